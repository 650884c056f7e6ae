/// How far a listener has the stream, as it says itself (`after` of `live_join`, contract §14.10).
package struct LivePoint: Hashable, Sendable {
    package var content: UUIDText
    package var position: LivePosition
    /// Lines that it has.
    package var line: Int

    package init(content: UUIDText, position: LivePosition, line: Int) {
        self.content = content
        self.position = position
        self.line = line
    }
}
