/// A password, a token or a string that contains one. Prints as `***` wherever it is interpolated, dumped or logged.
package struct Secret: Sendable {
    /// The value itself. Code that reads it takes care of where it goes.
    package let revealed: String

    package init(_ value: String) {
        self.revealed = value
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "***" }
    package var debugDescription: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
