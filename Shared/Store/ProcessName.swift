import Contract

/// The name of a service's process at the database (`application_name`). Any role may read it: operators see by it which
/// processes run, and of which release.
package struct ProcessName: Hashable, Comparable, Sendable {
    package let service: String
    package let instance: Int
    package let release: String

    package init(_ service: String, _ instance: Int, release: String = Release.version) {
        self.service = service
        self.instance = instance
        self.release = release
    }

    /// `whisper-router-1 0.1.0`. The name must be shorter than 64 bytes: Postgres cuts it there.
    package var text: String { "whisper-\(self.service)-\(self.instance) \(self.release)" }

    /// - Returns: `nil` for the name of something else: another program, or a further connection of a process.
    package init?(_ text: String) {
        guard let parts = text.wholeMatch(of: #/whisper-([a-z]+)-([0-9]+) ([0-9A-Za-z.+-]+)/#),
            let instance = Int(parts.2)
        else { return nil }
        self.init(String(parts.1), instance, release: String(parts.3))
    }

    package static func < (a: ProcessName, b: ProcessName) -> Bool {
        (a.service, a.instance, a.release) < (b.service, b.instance, b.release)
    }
}
