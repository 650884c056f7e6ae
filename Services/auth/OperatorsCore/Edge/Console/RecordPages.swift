import ClusterContract
package import Contract

// Lists without forms that change something.
extension ConsolePage {
    package static func wakeUps(
        _ letters: ArraySlice<PushViews.DeadLetter>, next: Cursor?, at now: Timestamp
    ) -> ConsolePage {
        let rows = letters.map { letter -> HTML in
            """
            <tr><td data-label="Time">\(self.time(letter.at, at: now))</td>
            <td data-label="Identity">\(self.subject(letter.recipient))</td><td data-label="Kind">\(letter.kind)</td>
            <td data-label="Provider">\(letter.provider)</td><td data-label="Why" dir="auto">\(letter.reason)</td>
            <td data-label="Tries" class="number">\(letter.tries)</td>
            <td data-label="Wake id" class="id">\(letter.wakeID)</td></tr>
            """
        }
        let list: HTML = """
            <table class="card"><thead><tr><th>Time (UTC)</th><th>Identity</th><th>Kind</th><th>Provider</th><th>Why</th><th>Tries</th><th>Wake id</th></tr></thead>
            <tbody>\(rows)</tbody></table>
            """
        return ConsolePage(
            .wakeUps, title: "Failed pushes",
            body: """
                \(self.heading("Failed pushes", "Pushes that no provider took in the end. Their mail still waits. Known for 30 days."))
                \(letters.isEmpty ? self.empty("None. Every push found its provider.") : list)
                \(self.older(next) { URLEncodedForm.address("/console/wake-ups", [("cursor", $0)]) })
                """)
    }

    /// - Parameters:
    ///   - target: the one that all entries are about; nil for any.
    ///   - isAll: with the entries of reading operations.
    package static func audit(
        _ entries: ArraySlice<AuditTable.Entry>, target: String?, isAll: Bool, next: Cursor?, at now: Timestamp
    ) -> ConsolePage {
        let rows = entries.map { entry -> HTML in
            let event = entry.event
            return """
                <tr><td data-label="Time">\(self.time(entry.at, at: now))</td><td data-label="Who">\(event.actor.rawValue)</td>
                <td data-label="What">\(event.action) \(self.result(event.result))</td>
                <td data-label="About">\(event.target.map { self.subject($0) })</td>
                <td data-label="Note" dir="auto">\(event.note ?? "")</td></tr>
                """
        }
        let list: HTML = """
            <table class="card" id="events"><thead><tr><th>Time (UTC)</th><th>Who</th><th>What</th><th>About</th><th>Note</th></tr></thead>
            <tbody>\(rows)</tbody></table>
            """
        return ConsolePage(
            .audit, title: "Audit",
            body: """
                \(self.heading("Audit", "Who asked and did what, newest first. Nothing here can be changed or removed, not even by the service."))
                <form method="get" action="/console/audit" class="card actions">
                <input name="target" class="id" maxlength="64" value="\(target ?? "")" placeholder="Identity, report or message" aria-label="About" autocomplete="off" spellcheck="false">
                <label class="check"><input type="checkbox" name="all" value="1"\(isAll ? " checked" : "" as HTML)> Include views</label>
                <button id="filter" class="main">Show</button>
                </form>
                \(entries.isEmpty ? self.empty("Nothing is recorded here.") : list)
                \(self.older(next) { URLEncodedForm.address("/console/audit", [("target", target), ("all", isAll ? "1" : nil), ("cursor", $0)]) })
                """)
    }
}
