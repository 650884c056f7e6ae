import Contract
import Telemetry

/// Where Postgres is, in one of libpq's two forms (PostgreSQL documentation, "Connection Strings").
struct ConnectionString {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    private var isURI: Bool { self.text.hasPrefix("postgres://") || self.text.hasPrefix("postgresql://") }

    /// libpq takes the last of several, so this password wins over one that stands in the text.
    func with(password: Secret) -> Secret {
        guard self.isURI else { return Secret("\(self.text) password='\(Self.quoted(password.revealed))'") }
        let mark = self.text.contains("?") ? "&" : "?"
        return Secret("\(self.text)\(mark)password=\(PercentCoding.encode(password.revealed))")
    }

    private static func quoted(_ value: String) -> String {
        value.reduce(into: "") { text, character in
            if character == "'" || character == "\\" { text.append("\\") }
            text.append(character)
        }
    }
}
