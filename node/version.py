"""The version of askmesh; the build reads it from here too."""

VERSION = "0.1.0"
