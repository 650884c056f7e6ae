/// `docs/settings.md`: every setting of every service, made of what `whisper-<service> settings` prints.
package struct SettingsPage {
    /// One setting, and the services that read it.
    package struct Row: Equatable {
        package let variable: String
        let allowed: String
        let otherwise: String
        let meaning: String
        package fileprivate(set) var services: [String]

        package var isSecret: Bool { self.allowed.hasPrefix("a secret") }

        /// The variables by which it may be given: a secret may stand in a file.
        package var variables: [String] { self.isSecret ? [self.variable, self.variable + "_FILE"] : [self.variable] }

        /// Two services may mean the same by a variable, or it is two rows.
        fileprivate func isSame(as other: Row) -> Bool {
            (self.variable, self.allowed, self.otherwise, self.meaning) == (
                other.variable, other.allowed, other.otherwise, other.meaning
            )
        }
    }

    package static let services = ["gateway", "auth", "router", "push", "attachments", "calls"]

    /// Settings shared by the most services come first; among equally shared ones the order of declaration holds.
    package let rows: [Row]

    /// - Parameter lists: what each service prints: a line for each setting, four columns with tabs between.
    package init(_ lists: [(service: String, text: String)]) {
        var rows: [Row] = []
        for (service, text) in lists {
            for line in text.split(separator: "\n") {
                let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
                guard columns.count == 4 else { continue }
                let row = Row(
                    variable: columns[0], allowed: columns[1], otherwise: columns[2], meaning: columns[3],
                    services: [service])
                if let index = rows.firstIndex(where: { $0.isSame(as: row) }) {
                    rows[index].services.append(service)
                } else {
                    rows.append(row)
                }
            }
        }
        let counts = Set(rows.map(\.services.count)).sorted(by: >)
        self.rows = counts.flatMap { count in rows.filter { $0.services.count == count } }
    }

    package var text: String {
        let table = ProtocolPage.table(
            ["variable", "read by", "may be", "otherwise", "means"],
            self.rows.map { row in
                let isEverybody = row.services.count == Self.services.count
                return [
                    "`\(row.variable)`", isEverybody ? "all" : row.services.joined(separator: ", "), row.allowed,
                    row.otherwise.isEmpty ? "none" : row.otherwise, row.meaning,
                ]
            })
        return Self.opening + "\n\n" + table + "\n"
    }

    private static let opening = """
        # Settings

        The services are configured by environment variables. They are read once, at the start. An invalid value stops the process with
        status 78. Its last line names the setting and the reason. An empty value counts as absent.

        Any secret `X` may be given as `X_FILE`, the path of a file with the secret and nothing else. A line end behind it is not part of
        the secret. `X` and `X_FILE` together are refused.

        `whisper-<service> settings` prints the rows of one service. `make documents` makes this page of them: do not edit it.
        """
}
