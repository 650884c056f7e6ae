import Contract
import Store

// Health, on the first page: only what this process can see by itself. The rest is named as unknown.
extension ConsolePage {
    /// Services with connections to the database. Gateways have none.
    private static let services = ["auth", "router", "push", "attachments", "calls"]

    static func services(_ health: OperatorService.Health) -> HTML {
        let lines = self.services.map { service -> HTML in
            let releases = health.processes.filter { $0.service == service }.map { Optional($0.release) }
            return self.line(service, releases, absent: "<span class=\"tag bad\">not connected</span>")
        }
        let releases = Set(health.processes.map(\.release) + health.gateways.compactMap { $0 })
        return """
            <section class="card" id="services"><header><h2>Services</h2><a href="/ready">Ready?</a></header>
            <ol class="news">\(lines)
            \(self.line("gateway", health.gateways, absent: "<span class=\"tag calm\">none seen</span>"))</ol>
            \(releases.count > 1 ? "<p class=\"note\">Two or more releases run. That is right during an upgrade only.</p>" : nil as HTML?)
            <p class="note">Services are seen by their connections to the database, gateways by people who are connected to them. A gateway without people is not seen.</p>
            </section>
            """
    }

    private static func line(_ service: String, _ releases: [String?], absent: HTML) -> HTML {
        let names = Set(releases.map { $0 ?? "a release that does not tell" }).sorted()
        let tone: HTML = names.count > 1 ? "care" : "good"
        let state: HTML =
            releases.isEmpty ? absent : "<span class=\"tag \(tone)\">\(names.joined(separator: ", "))</span>"
        return """
            <li data-service="\(service)"><span><b>\(service)</b> \(self.processes(releases.count))</span> \(state)</li>
            """
    }

    private static func processes(_ count: Int) -> HTML? {
        switch count {
        case 0: nil
        case 1: "1 process"
        default: "\(count) processes"
        }
    }

    static func flow(_ health: OperatorService.Health, at now: Timestamp) -> HTML {
        let pace: HTML =
            health.pace.map {
                "\(Wording.count($0.perMinute)) a minute, over the last \($0.over.components.seconds) s"
            } ?? "not known yet: the next look compares with this one"
        return """
            <section class="card" id="flow"><header><h2>Flow and alerts</h2></header>
            <ol class="news"><li><span><b>Messages stored</b></span><span class="small" id="pace">\(pace)</span></li>
            <li><span><b>Backup of what is committed</b></span>\(self.state(of: health.backup))</li>
            <li><span><b>Certificate</b></span>\(self.certificate(health.surroundings.certificateEnd, at: now))</li>
            <li><span><b>Alerts</b></span>\(self.alerts(health.surroundings.alerts))</li>
            \(self.firing(health.surroundings.alerts))</ol>
            <p class="note">Alerts watch the age of the newest base backup and the Jobs that wait, too.</p>
            </section>
            """
    }

    private static func certificate(_ end: Surroundings.Finding<Timestamp>, at now: Timestamp) -> HTML {
        switch end {
        case .unknown: "<span class=\"tag calm\" id=\"certificate\">not watched (CERTIFICATE_OF)</span>"
        case .unreachable: "<span class=\"tag bad\" id=\"certificate\">nobody shows one</span>"
        case .found(let end):
            """
            <span class="tag \(end < now + OperatorsLimits.certificateCare ? "bad" : "good" as HTML)" id="certificate">\(end < now ? "ended" : "ends" as HTML) \(Wording.distance(of: end, from: now))</span>
            """
        }
    }

    private static func alerts(_ alerts: Surroundings.Finding<[Surroundings.Alert]>) -> HTML {
        switch alerts {
        case .unknown: "<span class=\"tag calm\" id=\"alerts\">not known (PROMETHEUS)</span>"
        case .unreachable: "<span class=\"tag bad\" id=\"alerts\">Prometheus does not answer</span>"
        case .found([]): "<span class=\"tag good\" id=\"alerts\">none fires</span>"
        case .found(let alerts): "<span class=\"tag bad\" id=\"alerts\">\(Int64(alerts.count)) firing</span>"
        }
    }

    private static func firing(_ alerts: Surroundings.Finding<[Surroundings.Alert]>) -> HTML? {
        guard case .found(let alerts) = alerts, !alerts.isEmpty else { return nil }
        let lines: [HTML] = alerts.prefix(OperatorsLimits.alertsShown).map {
            "<li data-alert=\"\(foreign: $0.name)\"><span>\(foreign: $0.name)</span> <span class=\"small\">\(foreign: $0.severity)</span></li>"
        }
        return "\(lines)"
    }

    private static func state(of backup: HealthViews.Backup?) -> HTML {
        guard let backup else { return "<span class=\"tag bad\" id=\"backup\">none has ever connected</span>" }
        guard let behind = backup.bytesBehind else {
            return "<span class=\"tag bad\" id=\"backup\">too far behind: it needs a new base backup</span>"
        }
        return """
            <span class="tag \(backup.isConnected ? "good" : "bad" as HTML)" id="backup">\(backup.isConnected ? "connected" : "not connected" as HTML), \(Wording.bytes(behind)) to go</span>
            """
    }
}
