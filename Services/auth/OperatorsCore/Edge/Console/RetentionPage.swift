import Contract

extension ConsolePage {
    package static func retention(_ kept: KeptRecords) -> ConsolePage {
        let rows = KeptRecord.all.map { record -> HTML in
            let places = record.places.isEmpty ? "" : " (\(record.places.joined(separator: ", ")))"
            return """
                <tr data-record="\(record.name)"><td data-label="What">\(record.about)<br>\(record.enforcedBy)\(places)</td>
                <td data-label="How long">\(self.time(of: record, kept))</td>
                <td data-label="Counted">\(record.until)</td>
                <td data-label="Setting">\(self.setting(of: record))</td></tr>
                """
        }
        return ConsolePage(
            .retention, title: "What is kept",
            body: """
                \(self.heading("What is kept, and how long", "Rows go by themselves at their time. Times of settings that auth is not told are the usual ones."))
                <table class="card"><thead><tr><th>What</th><th>How long</th><th>Counted</th><th>Setting</th></tr></thead>
                <tbody>\(rows)</tbody></table>
                """)
    }

    private static func time(of record: KeptRecord, _ kept: KeptRecords) -> String {
        if let time = kept.time(of: record) { return Wording.span(time) }
        return record.usual.map { Wording.span($0) + " unless set otherwise" } ?? "–"
    }

    private static func setting(of record: KeptRecord) -> String {
        record.setting.map { "\($0.name), \(Wording.span($0.least)) to \(Wording.span($0.most))" } ?? "–"
    }
}
