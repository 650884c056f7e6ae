/// The number of this release. Programs, documents, chart and packages have it from here.
package enum Release {
    /// Three numbers, as semver.org has them. A tag of the same name marks the release in git.
    package static let version = "0.1.0"

    /// The answer of a program to `--version`.
    /// - Parameter revision: the commit, if it is known.
    package static func line(_ program: String, revision: String? = nil) -> String {
        "\(program) \(Self.version)" + (revision.map { " (\($0))" } ?? "")
    }
}
