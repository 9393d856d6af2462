"""The wheel in an empty environment: python_test_wheel.py CMAKE BUILD, whose target `wheel` it makes."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile
from pathlib import Path

CMAKE, BUILD = sys.argv[1:3]


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = subprocess.run([CMAKE, "--build", BUILD, "--target", "wheel"], capture_output=True, text=True)
        if made.returncode != 0:  # it also fails where something links what other systems may lack
            raise RuntimeError(made.stdout + made.stderr)
        (cls.wheel,) = Path(BUILD, "wheel").glob("mmtune-*.whl")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.home = Path(folder.name)
        venv.create(cls.home / "venv", with_pip=False)
        (packages,) = (cls.home / "venv" / "lib").glob("python3*/site-packages")
        with zipfile.ZipFile(cls.wheel) as archive:  # what pip does, which not every Python has
            for entry in archive.infolist():
                os.chmod(archive.extract(entry, packages), (entry.external_attr >> 16) & 0o777 or 0o644)

    def python(self, *arguments):
        command = [self.home / "venv" / "bin" / "python", "-B", *arguments]
        environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        ran = subprocess.run(command, cwd=self.home, env=environment, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def test_its_name_says_what_runs_it(self):
        self.assertRegex(self.wheel.name, r"^mmtune-[0-9.]+\+[0-9a-f]{12}-cp310-abi3-manylinux_2_(1[7-9]|[2-9][0-9])_x86_64\.whl$")

    def test_the_record_names_every_file(self):
        with zipfile.ZipFile(self.wheel) as archive:
            (record,) = (name for name in archive.namelist() if name.endswith("/RECORD"))
            listed = [line.split(",")[0] for line in archive.read(record).decode().splitlines()]
            self.assertEqual(sorted(listed), sorted(archive.namelist()))
            for part in ("mmtune/bin/mmtune", "mmtune/lib/libmmtune.so.0.1", "mmtune/lib/libmmtune_cublas.so",
                         "mmtune/_native.abi3.so", "mmtune/torch/__init__.py"):
                self.assertIn(part, listed)

    # pip leaves what is installed alone where a wheel has the same version.
    def test_another_file_makes_another_version(self):
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
        from make_wheel import local_version

        file = self.home / "file"
        versions = set()
        for name, content in (("a", b"1"), ("a", b"2"), ("b", b"2")):
            file.write_bytes(content)
            versions.add(local_version([(name, file)]))
        self.assertEqual(len(versions), 3)
        metadata = self.python("-c", "from importlib.metadata import version; print(version('mmtune'))").strip()
        self.assertIn(f"mmtune-{metadata}-cp310", self.wheel.name)

    def test_program(self):
        version = re.search(r"mmtune-([0-9.]+)\+", self.wheel.name).group(1)
        self.assertIn(version, self.python("-m", "mmtune", "--version"))
        command = "from importlib.metadata import entry_points; [each.load()() for each in entry_points(name='mmtune')]"
        self.assertIn("h200", self.python("-c", f"import sys; sys.argv[1:] = ['devices']; {command}").lower())

    def test_plan_of_a_model_without_a_driver(self):
        self.assertIn("fallback", self.python("-c", """
import mmtune
with mmtune.Library(model="h200") as library:
    a, b, c = (mmtune.Matrix(0, "bf16", shape, (shape[1], 1)) for shape in ((64, 32), (32, 16), (64, 16)))
    print(library.explain(a, b, out=c))
"""))  # fmt: skip

    def test_frameworks_are_asked_for_by_name(self):
        self.python("-c", """
import mmtune
try:
    import mmtune.torch
except ModuleNotFoundError as error:
    assert error.name == "torch", error
""")  # fmt: skip


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
