import Glibc

/// The terminal without its line discipline: each key arrives at once and nothing is echoed. Put back on `restore`.
final class RawTerminal: Sendable {
    private let before: termios

    /// - Returns: `nil` if standard input or output is no terminal, or one that has nothing but lines.
    init?() {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, !Style.isTerminalPlain else { return nil }
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        self.before = settings
        cfmakeraw(&settings)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return nil }
        // Pastes come in brackets.
        Self.write("\u{1B}[?2004h")
    }

    func restore() {
        Self.write("\u{1B}[?2004l")
        var before = self.before
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before)
    }

    static var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    static func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0 && errno != EINTR { return }
            bytes = bytes.dropFirst(max(count, 0))
        }
    }
}

/// The next bytes of standard input, waited for; `nil` is the end.
func readKeys() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count < 0 && errno == EINTR { continue }
        return count > 0 ? Array(buffer.prefix(count)) : nil
    }
}
