package import Contract
import HTTPAccess

extension ConsolePage {
    package static func erasures(
        _ entries: ArraySlice<ErasedRecords.Entry>, next: Cursor?, done: CompletedChange?, of session: ConsoleSession,
        at now: Timestamp
    ) -> ConsolePage {
        ConsolePage(
            .erasures, title: "Erasures",
            body: """
                \(self.heading("Erasures", "People who left for good, or were erased here. No row says who it was."))
                \(self.confirmation(of: done))
                \(session.role >= .operator ? self.newErasure(of: session) : nil)
                \(entries.isEmpty ? self.empty("Nobody was erased.") : self.list(entries, at: now))
                \(self.older(next) { URLEncodedForm.address("/console/erasures", [("cursor", $0)]) })
                """)
    }

    /// The form stands behind a fold: nobody erases in passing.
    private static func newErasure(of session: ConsoleSession) -> HTML {
        """
        <details class="card" id="erase"><summary>Erase somebody</summary>
        <p>This removes the identity and what the server keeps of it, for good. Nobody can undo it, and the id and keys are never taken again. The person is told nothing.</p>
        <form method="post" action="/console/erasures" class="actions">\(self.formToken(of: session))
        <input name="whisperId" class="id" required maxlength="20" pattern="WSP-[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}" placeholder="WSP-XXXX-XXXX-XXXX" aria-label="Whisper ID" autocomplete="off" spellcheck="false">
        <input name="confirm" class="id" required maxlength="20" pattern="WSP-[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}" placeholder="The same ID again" aria-label="The same Whisper ID again" autocomplete="off" spellcheck="false">
        <select name="sentMail" aria-label="Messages that wait for others"><option value="keep">Messages that wait are delivered</option><option value="withdraw">Messages that wait are withdrawn</option></select>
        <input name="reason" required maxlength="\(Limits.banReasonCharacters.upperBound)" placeholder="Reason, without the ID" aria-label="Reason">
        <button class="danger">Erase for good</button></form></details>
        """
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
