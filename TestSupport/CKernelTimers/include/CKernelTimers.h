// Nothing to call: this library is loaded in front of another.
