package import Contract

/// An open conversation as a program finds it that has seen none of its events.
package struct LiveView: Sendable {
    package enum State: Sendable, Equatable {
        // States of our own conversations.

        /// The stream is to be held, and is not yet.
        case starting
        case held
        case stopped(LiveStopped.Reason)
        case failed(ErrorCode)

        // States of other identities' conversations.

        case joining
        case waiting
        case joined(ListenerMachine.Stream.State)
        /// - Parameter note: the whisperer's note.
        case over(ListeningMachine.End, note: String?)
    }

    package let state: State
    /// The stream of text and lines.
    package let content: UUIDText?
    /// Whether the server keeps completed lines.
    package let isTranscribed: Bool
    /// The unfinished line.
    package let text: LiveText
    /// All completed lines that are kept here, by number.
    package let lines: [NumberedLine]
    /// Completed lines of ours that have not gone out, in their order.
    package let waiting: [LiveText]

    /// - Parameter number: lines below it alone; `nil` for the newest.
    package func page(before number: Int?, most: Int) -> (lines: ArraySlice<NumberedLine>, hasOlder: Bool) {
        let lines = self.lines.prefix { line in number.map { line.number < $0 } ?? true }
        return (lines.suffix(most), lines.count > most)
    }
}
