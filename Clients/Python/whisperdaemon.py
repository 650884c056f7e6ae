"""The name of before of `whispercore.daemon`, for this minor version."""

from whispercore.daemon import Daemon, error  # noqa: F401
