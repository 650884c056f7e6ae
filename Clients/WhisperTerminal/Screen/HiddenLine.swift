import Glibc
import TerminalText

/// Reads a line that the terminal does not show. Without a terminal it is read as it comes.
/// - Returns: `nil` at the end of the input, and for a line with Ctrl-C in it.
func readHiddenLine(_ prompt: String) -> String? {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return readLine() }
    var before = settings
    defer { tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
    settings.c_lflag = settings.c_lflag & ~tcflag_t(ECHO | ISIG) | tcflag_t(ECHONL)
    // Ctrl-C spoils the line instead: a process that it ended would leave the terminal without echo.
    let interrupt: cc_t = 3
    tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
    print(prompt, terminator: "")
    fflush(nil)
    guard let line = readLine(), !line.utf8.contains(interrupt) else {
        print("")
        return nil
    }
    return line
}
