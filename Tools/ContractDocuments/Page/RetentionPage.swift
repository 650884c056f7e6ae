import Contract

/// `docs/retention.md`: what a server keeps, and how long (contract §20.9).
enum RetentionPage {
    static let text =
        Self.opening + "\n\n"
        + ProtocolPage.table(
            ["what", "where", "how long", "counted", "setting", "when a person is erased", "enforced by"],
            KeptRecord.all.map { record in
                [
                    record.about, record.places.map { "`\($0)`" }.joined(separator: ", "),
                    record.usual.map(Self.span) ?? "–", record.until,
                    record.setting.map { "`\($0.name)`: \(Self.span($0.least)) to \(Self.span($0.most))" } ?? "–",
                    record.erased ?? "–", record.enforcedBy,
                ]
            }) + "\n"

    private static func span(_ time: Duration) -> String {
        let seconds = time.components.seconds
        if seconds % 86_400 == 0, seconds >= 4 * 86_400 { return "\(seconds / 86_400) d" }
        return seconds % 3_600 == 0 ? "\(seconds / 3_600) h" : "\(seconds) s"
    }

    private static let opening = """
        # What is kept, and how long

        Each row is one kind of record: the tables that hold it, and beginnings of keys in Redis behind `redis:`. A test fails if a table that
        names a person, or a kind of key, is in no row. `whisper-admin retention` and the console's page *What is kept* show the times in force.

        A person who leaves, or whom an operator erases, is erased as the table says ([contract.md](contract.md) §20.3). A record without a word
        there is about nobody. `whisper export` shows what is held about oneself and these words, but not the ledger: it is kept by message.
        `make documents` makes this page of `KeptRecord`: do not edit it.
        """
}
