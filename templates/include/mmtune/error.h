// Faults of the program, its input or its surroundings. A bad candidate is not an error but a value (db/trial.h).
//
// Every message says object, cause and remedy on one line.
#pragma once

#include <stdexcept>
#include <string>

namespace mmtune {

/// The base of everything mmtune throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the caller asked for makes no sense: the message names the offending token.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// No usable GPU, driver or compiler: the message says where it looked.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// The GPU or its driver context stopped working; nothing more can run in this process.
class DeviceLostError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// The database cannot be opened, read or written. Nothing was deleted.
class DatabaseError : public Error {
 public:
  using Error::Error;
};

/// Another process kept the database locked for as long as this one may wait.
class DatabaseLockedError : public DatabaseError {
 public:
  using DatabaseError::DatabaseError;
};

/// There was no room for an allocation on the GPU; smaller problems may still run.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

}  // namespace mmtune
