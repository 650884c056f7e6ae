"""The name of before of `whispercore.bot`, for this minor version."""

from whispercore.bot import Bot  # noqa: F401
