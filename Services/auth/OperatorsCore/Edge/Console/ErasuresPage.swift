package import Contract
import HTTPAccess

extension ConsolePage {
    /// - Parameters:
    ///   - open: those that wait for a part, oldest first.
    ///   - others: newest first, a page of them.
    package static func erasures(
        open: ArraySlice<ErasedRecords.Entry>, _ others: ArraySlice<ErasedRecords.Entry>, next: Cursor?,
        done: CompletedChange?, at now: Timestamp
    ) -> ConsolePage {
        ConsolePage(
            .erasures, title: "Erasures",
            body: """
                \(self.heading("Erasures", "People who left for good, or were erased under <a href=\"/console/people\">People</a>. Erasures that wait for a service come first, the oldest at the top. No row says who it was."))
                \(self.confirmation(of: done))
                \(open.isEmpty && others.isEmpty ? self.empty("Nobody was erased.") : nil)
                <div class="stack">\(open.isEmpty ? nil : self.list(open, at: now))
                \(others.isEmpty ? nil : self.list(others, at: now))</div>
                \(self.older(next) { URLEncodedForm.address("/console/erasures", [("cursor", $0)]) })
                """)
    }

    private static func list(_ entries: ArraySlice<ErasedRecords.Entry>, at now: Timestamp) -> HTML {
        let rows = entries.map { entry -> HTML in
            """
            <tr data-erasure="\(entry.id)"><td data-label="Erasure"><a class="id" href="\(URLEncodedForm.address("/console/audit", [("target", "erasure-\(entry.number)")]))">erasure-\(entry.number)</a></td>
            <td data-label="By">\(entry.origin)</td>
            <td data-label="Decided">\(self.distance(of: entry.decidedAt, at: now))</td>
            <td data-label="Waits for">\(entry.waitingFor.isEmpty ? "done" : entry.waitingFor.joined(separator: ", "))</td></tr>
            """
        }
        return """
            <table class="card"><thead><tr><th>Erasure</th><th>By</th><th>Decided</th><th>Waits for</th></tr></thead>
            <tbody>\(rows)</tbody></table>
            """
    }
}
