"""Makes the wheel from what cmake/wheel.cmake has linked: Python's standard library and binutils are enough."""

import argparse
import base64
import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

# What every Linux with this glibc has: https://github.com/pypa/auditwheel, policy/manylinux-policy.json.
_SYSTEM = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libstdc++.so.6", "libgcc_s.so.1", "libz.so.1",
    "ld-linux-x86-64.so.2",
}  # fmt: skip
# The glibc of the first system with a libstdc++ of that version, by the same file: GLIBCXX_3.4.<key>.
_GLIBC_BY_GLIBCXX = {24: 27, 25: 28, 28: 31, 29: 34, 30: 35, 32: 38, 33: 39}
_OLDEST_GLIBC = 17  # that the names of wheels begin with
_EPOCH = (1980, 1, 1, 0, 0, 0)  # one time for all files: the same files make the same wheel

_METADATA = """Metadata-Version: 2.1
Name: mmtune
Version: {version}
Summary: Matrix products on the GPU with kernels that were tuned for their sizes; the tuner, the library, PyTorch and CuPy
License: MIT
Requires-Python: >=3.10
Classifier: Operating System :: POSIX :: Linux
Classifier: Environment :: GPU :: NVIDIA CUDA
"""


def needed(file):
    """Names of the libraries that a file is linked with."""
    text = subprocess.run(["readelf", "-dW", file], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+?)\]", text))


def oldest_glibc(file):
    """The minor version of the oldest glibc 2 of a system that runs the file."""
    text = subprocess.run(["readelf", "-VW", file], check=True, capture_output=True, text=True).stdout
    versions = [int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", text)]
    for minor in map(int, re.findall(r"GLIBCXX_3\.4\.(\d+)", text)):
        versions.append(min((glibc for known, glibc in _GLIBC_BY_GLIBCXX.items() if known >= minor), default=99))
    return max(versions, default=_OLDEST_GLIBC)


def is_elf(file):
    with open(file, "rb") as start:
        return start.read(4) == b"\x7fELF"


def check_links(files):
    """Refuses what links a library that is neither here nor on every system."""
    here = {file.name for file in files}
    for file in files:
        strange = needed(file) - _SYSTEM - here
        if strange:
            sys.exit(f"{file.name}: links {', '.join(sorted(strange))}, which other systems may lack; link it statically")


def write(archive, records, name, content, mode=0o644):
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    records.append(f"{name},sha256={digest},{len(content)}")


def local_version(files):
    """What PEP 440 puts behind a version: pip installs nothing over a package of the same one."""
    digest = hashlib.sha256()
    for name, file in files:
        content = file.read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True, help="folder with mmtune/bin and mmtune/lib")
    parser.add_argument("--modules", type=Path, required=True, help="folder of the package's .py files")
    parser.add_argument("--native", type=Path, required=True)
    parser.add_argument("--shared", type=Path, action="append", default=[], help="library that comes along")
    parser.add_argument("--license", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", type=Path, required=True, help="folder")
    options = parser.parse_args()

    package = options.tree / "mmtune"
    for library in options.shared:
        soname = re.search(r"\(SONAME\).*\[(.+?)\]", subprocess.run(
            ["readelf", "-dW", library], check=True, capture_output=True, text=True).stdout).group(1)  # fmt: skip
        shutil.copyfile(library, package / "lib" / soname)
    stripped = package / options.native.name
    subprocess.run(["strip", "--strip-unneeded", "-o", stripped, options.native], check=True)
    binaries = [file for file in sorted(package.rglob("*")) if file.is_file() and not file.is_symlink() and is_elf(file)]
    check_links(binaries)
    tag = f"cp310-abi3-manylinux_2_{max(_OLDEST_GLIBC, *map(oldest_glibc, binaries))}_x86_64"
    files = [(f"mmtune/{file.relative_to(options.modules)}", file) for file in sorted(options.modules.rglob("*.py"))]
    files += [(str(file.relative_to(options.tree)), file) for file in binaries]
    version = f"{options.version}+{local_version(files)}"
    wheel = options.output / f"mmtune-{version}-{tag}.whl"
    for old in options.output.glob("mmtune-*.whl"):
        old.unlink()

    records, info = [], f"mmtune-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, file in files:
            write(archive, records, name, file.read_bytes(), 0o755 if file in binaries else 0o644)
        write(archive, records, f"{info}/METADATA", _METADATA.format(version=version).encode())
        write(archive, records, f"{info}/LICENSE", options.license.read_bytes())
        write(archive, records, f"{info}/entry_points.txt", b"[console_scripts]\nmmtune = mmtune.__main__:main\n")
        write(archive, records, f"{info}/WHEEL",
              f"Wheel-Version: 1.0\nGenerator: mmtune\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())  # fmt: skip
        records.append(f"{info}/RECORD,,")
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD", _EPOCH), "\n".join(records) + "\n")
    print(wheel)


if __name__ == "__main__":
    main()
