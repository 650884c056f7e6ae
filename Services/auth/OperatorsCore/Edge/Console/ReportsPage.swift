package import Contract
import HTTPAccess

extension ConsolePage {
    static func reports(
        _ entries: ArraySlice<ReportTable.Entry>, _ filter: ReportFilter, next: Cursor?, done: CompletedChange?,
        _ visit: ConsoleRoutes.Visit
    ) -> ConsolePage {
        self.reports(entries, filter, next: next, done: done, of: visit.session, at: visit.now)
    }

    package static func reports(
        _ entries: ArraySlice<ReportTable.Entry>, _ filter: ReportFilter, next: Cursor?, done: CompletedChange?,
        of session: ConsoleSession, at now: Timestamp
    ) -> ConsolePage {
        let word = filter.status?.rawValue ?? ReportFilter.all
        return ConsolePage(
            .reports, title: "Reports",
            body: """
                \(self.heading("Reports", "What people say about each other, newest first. The messages themselves stay sealed: evidence is a message whose signature was checked."))
                \(self.confirmation(of: done))
                <nav class="tabs" aria-label="Which reports">\(self.tabs(filter))</nav>
                \(entries.isEmpty ? self.empty("No reports here.") : "<div class=\"stack\">\(entries.map { self.report($0, of: session, at: now) })</div>" as HTML)
                \(self.older(next) { URLEncodedForm.address("/console/reports", [("status", word), ("cursor", $0)]) })
                """)
    }

    private static func tabs(_ filter: ReportFilter) -> [HTML] {
        let all = AdminOperations.ReportStatus.allCases.map { Optional($0) } + [nil]
        return all.map { status in
            let word = status?.rawValue ?? ReportFilter.all
            let isCurrent = status == filter.status
            return """
                <a href="\(URLEncodedForm.address("/console/reports", [("status", word)]))"\(isCurrent ? " aria-current=\"true\"" : "" as HTML)>\(word)</a>
                """
        }
    }

    private static func report(_ entry: ReportTable.Entry, of session: ConsoleSession, at now: Timestamp) -> HTML {
        let isOpen = entry.status == AdminOperations.ReportStatus.open.rawValue
        let form = session.role >= .operator ? self.decision(on: entry, of: session) : nil
        return """
            <article class="card report" data-report="\(entry.id)">
            <header>
            <p><span class="tag">\(foreign: entry.reason)</span> \(self.verdict(entry.evidence)) \(isOpen ? nil : "<span class=\"tag calm\">\(entry.status)</span>" as HTML?)</p>
            <p class="when">\(self.distance(of: entry.createdAt, at: now))</p>
            </header>
            <p class="parties">\(self.subject(entry.target)) <span>reported by</span> \(entry.reporter.map { self.subject($0) } ?? "somebody who has left")</p>
            \(entry.note.flatMap { $0.isEmpty ? nil : "<blockquote dir=\"auto\">\($0)</blockquote>" } as HTML?)
            \(entry.reviewedAt.map { "<p class=\"small\">Reviewed \(self.time($0, at: now)) UTC</p>" } as HTML?)
            \(isOpen ? form : form.map { "<details><summary>Decide again</summary>\($0)</details>" } as HTML?)
            </article>
            """
    }

    private static func verdict(_ evidence: Evidence.Verification) -> HTML {
        // Evidence with a wrong signature is never stored, so there is no such case.
        switch evidence {
        case .none: "<span class=\"verdict\">No evidence</span>"
        case .signed:
            "<span class=\"verdict\">Evidence signed by the accused, but the server does not know the message</span>"
        case .verified:
            "<span class=\"verdict good\">Evidence verified: signed by the accused, and sent to the reporter</span>"
        }
    }

    private static func decision(on entry: ReportTable.Entry, of session: ConsoleSession) -> HTML {
        """
        <form method="post" action="/console/reports/\(entry.id)/review" class="actions">
        \(self.formToken(of: session))
        <input name="note" maxlength="\(Limits.reportNoteCharacters.upperBound)" placeholder="Note for the record (optional)" aria-label="Note for the record">
        <button name="decision" value="dismiss">Dismiss</button>
        <button name="decision" value="warn">Warn</button>
        <details class="ask"><summary>Ban…</summary>
        <p class="small">Ends all sessions of the accused within a second. They are told when the ban ends.</p>
        <span class="pair">\(self.terms(.day))<button name="decision" value="ban" class="danger">Ban</button></span></details>
        </form>
        """
    }
}
