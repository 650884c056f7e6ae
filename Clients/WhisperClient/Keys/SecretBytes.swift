/// Key material: erased from memory when the last user lets go, and never printed.
package final class SecretBytes: Sendable {
    private nonisolated(unsafe) var held: [UInt8]  // Written in `init` and `deinit` only.

    package init(_ bytes: [UInt8]) { self.held = bytes }

    package var bytes: [UInt8] { self.held }

    deinit { Sodium.erase(&self.held) }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "***" }
    package var debugDescription: String { "***" }
}
