package import Contract
import HTTPAccess

extension ConsolePage {
    static func bans(
        _ entries: ArraySlice<BanTable.Entry>, next: Cursor?, done: CompletedChange?, _ visit: ConsoleRoutes.Visit
    ) -> ConsolePage {
        self.bans(entries, next: next, done: done, of: visit.session, at: visit.now)
    }

    package static func bans(
        _ entries: ArraySlice<BanTable.Entry>, next: Cursor?, done: CompletedChange?, of session: ConsoleSession,
        at now: Timestamp
    ) -> ConsolePage {
        let mayAct = session.role >= .operator
        return ConsolePage(
            .bans, title: "Bans",
            body: """
                \(self.heading("Bans", "A banned person cannot log in, write or read. Their mail waits, for three days at most."))
                \(self.confirmation(of: done))
                \(mayAct ? self.newBan(of: session) : nil)
                \(entries.isEmpty ? self.empty("Nobody is banned.") : self.list(entries, of: session, at: now))
                \(self.older(next) { URLEncodedForm.address("/console/bans", [("cursor", $0)]) })
                """)
    }

    private static func newBan(of session: ConsoleSession) -> HTML {
        """
        <form method="post" action="/console/ban" class="card actions" id="ban">
        \(self.formToken(of: session))
        <input name="whisperId" class="id" required maxlength="40" pattern=" *(WSP-[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}|gst-[0-9a-f]{32}) *" placeholder="WSP-XXXX-XXXX-XXXX or gst-…" aria-label="Whisper ID or guest" autocomplete="off" spellcheck="false">
        <input name="reason" required maxlength="\(Limits.banReasonCharacters.upperBound)" placeholder="Reason" aria-label="Reason">
        <span class="pair">\(self.terms(.day))<button class="danger">Ban</button></span>
        </form>
        """
    }

    private static func list(
        _ entries: ArraySlice<BanTable.Entry>, of session: ConsoleSession, at now: Timestamp
    ) -> HTML {
        let rows = entries.map { entry -> HTML in
            """
            <tr data-ban="\(entry.principal.description)"><td data-label="Identity">\(self.subject(entry.principal))</td>
            <td data-label="Reason" dir="auto">\(entry.reason)</td>
            <td data-label="Since">\(self.distance(of: entry.createdAt, at: now))</td>
            <td data-label="Ends">\(entry.expiresAt.map { self.distance(of: $0, at: now) } ?? "never")</td>
            \(session.role >= .operator ? self.ending(entry.principal, of: session) : nil)</tr>
            """
        }
        return """
            <table class="card"><thead><tr><th>Identity</th><th>Reason</th><th>Since</th><th>Ends</th>\(session.role >= .operator ? "<th><span class=\"hidden\">End ban</span></th>" : "" as HTML)</tr></thead>
            <tbody>\(rows)</tbody></table>
            """
    }

    private static func ending(_ principal: PrincipalID, of session: ConsoleSession) -> HTML {
        """
        <td class="act"><form method="post" action="/console/unban" class="actions">\(self.formToken(of: session))
        <input type="hidden" name="whisperId" value="\(principal.description)">
        <input name="reason" required maxlength="\(Limits.banReasonCharacters.upperBound)" value="appeal" aria-label="Reason for ending the ban">
        <button>End ban</button></form></td>
        """
    }
}
