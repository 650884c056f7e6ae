import ArgumentParser
import Glibc
import TerminalText

/// Lists for programs, too.
struct ListOptions: ParsableArguments {
    @Flag(help: "Print one JSON object on each line, as docs/core.md describes it.") var json = false
}

/// Prints objects as the core wrote them, one on each line.
func print(json objects: [[UInt8]]) {
    for object in objects {
        let text = String(decoding: object, as: UTF8.self)
        printLine(isatty(STDOUT_FILENO) == 1 ? harmlessJSON(text) : text)
    }
}
