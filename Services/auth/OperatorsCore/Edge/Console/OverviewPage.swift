import ClusterContract
package import Contract
import HTTPAccess

extension ConsolePage {
    /// - Parameters:
    ///   - changes: the latest, one more than is shown.
    ///   - shown: of each list.
    ///   - isLive: whether the browser loads the page again and again. Nobody's page changes by itself unasked (WCAG 2.2.4).
    package static func overview(
        _ figures: OperatorService.Figures, changes: [AuditTable.Entry], deadLetters: [PushViews.DeadLetter],
        fullest: [ClusterViews.FullMailbox], health: OperatorService.Health, shown: Int, isLive: Bool = false,
        at now: Timestamp
    ) -> ConsolePage {
        let statistics = figures.statistics
        let isNearlyFull =
            statistics.databaseBytes > figures.databaseBytesMax / 100 * OperatorsLimits.databaseCarePercent
        return ConsolePage(
            .overview, title: "Overview", refresh: isLive ? OperatorsLimits.consoleRefreshEvery : nil,
            body: """
                \(self.heading("Overview", "\(isLive ? "<span class=\"live\"></span>" : "" as HTML)As of \(Wording.clock(now)) UTC. \(self.renewal(isLive))"))
                <section class="figures" aria-label="Figures">
                \(self.figure("online", "Online", figures.online, "of \(Wording.count(statistics.sessions)) sessions", isLarge: true))
                \(self.figure("pendingMessages", "Messages waiting", statistics.pendingMessages, "not acknowledged yet", isLarge: true))
                \(self.figure("reportsOpen", "Open reports", statistics.reportsOpen, "<a href=\"/console/reports\">Review</a>", isLarge: true, needsCare: statistics.reportsOpen > 0))
                \(self.figure("users", "Users", statistics.users))
                \(self.figure("devices", "Devices", statistics.devices))
                \(self.figure("sessions", "Sessions", statistics.sessions))
                \(self.figure("guests", "Guests", statistics.guests))
                \(self.figure("groups", "Groups", statistics.groups))
                \(self.figure("profiles", "Profiles", statistics.profiles))
                \(self.figure("conversations", "Live conversations", statistics.conversations))
                \(self.figure("streams", "Live streams", statistics.streams))
                \(self.figure("listeners", "Admitted listeners", statistics.listeners))
                \(self.figure("rooms", "Rooms", statistics.rooms))
                \(self.figure("transcriptLines", "Lines kept", statistics.transcriptLines))
                \(self.figure("attachments", "Attachments", statistics.attachments, "\(Wording.bytes(statistics.attachmentBytes))"))
                \(self.figure("bansActive", "Bans", statistics.bansActive, "<a href=\"/console/bans\">List</a>"))
                \(self.figure("databaseBytes", "Database", Wording.bytes(statistics.databaseBytes), "of \(Wording.bytes(figures.databaseBytesMax))", needsCare: isNearlyFull))
                </section>
                <div class="halves">
                \(self.services(health))
                \(self.flow(health, at: now))
                <section class="card"><header><h2>Latest changes</h2><a href="/console/audit">All</a></header>
                \(changes.isEmpty ? self.empty("Nobody has changed anything yet.") : "<ol class=\"news\">\(changes.prefix(shown).map { self.news($0, at: now) })</ol>" as HTML)
                </section>
                <section class="card"><header><h2>Failed pushes</h2><a href="/console/wake-ups">All</a></header>
                \(deadLetters.isEmpty ? self.empty("None. Every push found its provider.") : "<ol class=\"news\">\(deadLetters.prefix(shown).map { self.news($0, at: now) })</ol>" as HTML)
                </section>
                <section class="card"><header><h2>Fullest mailboxes</h2></header>
                \(fullest.isEmpty ? self.empty("No mailbox holds a tenth of what it may.") : "<ol class=\"news\" id=\"fullestMailboxes\">\(fullest.map { self.news($0) })</ol>" as HTML)
                </section>
                </div>
                """)
    }

    private static func renewal(_ isLive: Bool) -> HTML {
        let seconds = OperatorsLimits.consoleRefreshEvery.components.seconds
        return isLive
            ? "Renewed every \(seconds) s. <a href=\"/console\">Stop</a>"
            : "<a id=\"live\" href=\"/console?live=1\">Renew every \(seconds) s</a>"
    }

    private static func figure(
        _ id: HTML, _ title: HTML, _ value: Int64, _ about: HTML = "", isLarge: Bool = false, needsCare: Bool = false
    ) -> HTML {
        self.figure(id, title, Wording.count(value), about, isLarge: isLarge, needsCare: needsCare)
    }

    private static func figure(
        _ id: HTML, _ title: HTML, _ value: String, _ about: HTML = "", isLarge: Bool = false, needsCare: Bool = false
    ) -> HTML {
        """
        <div class="card figure\(isLarge ? " large" : "" as HTML)\(needsCare ? " care" : "" as HTML)">
        <h2>\(title)</h2><p class="value" id="\(id)">\(value)</p><p class="about">\(about)</p>
        </div>
        """
    }

    private static func news(_ entry: AuditTable.Entry, at now: Timestamp) -> HTML {
        let event = entry.event
        return """
            <li><span><b>\(event.actor.rawValue)</b> \(event.action)\(event.target.map { " \(self.subject($0))" } as HTML?) \(self.result(event.result))</span>
            <span class="when">\(self.distance(of: entry.at, at: now))</span></li>
            """
    }

    private static func news(_ letter: PushViews.DeadLetter, at now: Timestamp) -> HTML {
        """
        <li><span>\(self.subject(letter.recipient)) \(letter.provider), \(foreign: letter.reason)</span>
        <span class="when">\(self.distance(of: letter.at, at: now))</span></li>
        """
    }

    private static func news(_ mailbox: ClusterViews.FullMailbox) -> HTML {
        """
        <li><span>\(self.subject(mailbox.recipient)) \(Wording.count(Int64((mailbox.fill * 100).rounded()))) % full</span>
        <span class="when">\(Wording.count(mailbox.messages)) messages, \(Wording.bytes(mailbox.bytes))</span></li>
        """
    }

    /// An event's result; `nil` for success.
    static func result(_ result: String) -> HTML? {
        result == AuditEvent.ok ? nil : "<span class=\"tag bad\">\(foreign: result)</span>"
    }
}
