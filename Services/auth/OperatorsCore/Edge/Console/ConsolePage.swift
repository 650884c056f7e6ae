import Contract
import HTTPAccess
package import Hummingbird

/// A page of the console, without the frame that `document` puts around each.
package struct ConsolePage: Sendable {
    package enum Section: CaseIterable, Sendable {
        case overview, reports, people, bans, registration, rateClasses, erasures, retention, messages, wakeUps, audit
    }

    package var section: Section?
    package var title: HTML
    package var body: HTML
    package var status = HTTPResponse.Status.ok
    /// Time after which the browser loads the page again; nil for never.
    package var refresh: Duration?

    package init(
        _ section: Section?, title: HTML, status: HTTPResponse.Status = .ok, refresh: Duration? = nil, body: HTML
    ) {
        self.section = section
        self.title = title
        self.status = status
        self.refresh = refresh
        self.body = body
    }

    package func document(for session: ConsoleSession?) -> HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        \(self.refresh.map { "<meta http-equiv=\"refresh\" content=\"\($0.components.seconds)\">" } as HTML?)
        <title>\(self.title) · Whisper</title>
        <link rel="icon" href="/console/icon.svg" type="image/svg+xml">
        <link rel="stylesheet" href="/console/console.css">
        </head>
        <body\(session == nil ? " class=\"outside\"" : "" as HTML)>
        \(session.map { self.top(of: $0) })
        <main>
        \(self.body)
        </main>
        \(session.map { "<footer>Signed in as \(Self.name(of: $0.role)) until \(Wording.clock($0.endsAt)) UTC. Everything asked and done here is recorded.</footer>" } as HTML?)
        </body>
        </html>
        """
    }

    private func top(of session: ConsoleSession) -> HTML {
        """
        <header class="top">
        <a class="brand" href="/console"><img src="/console/icon.svg" alt="" width="24" height="24">Whisper</a>
        <nav aria-label="Pages">\(Section.allCases.map { $0.link(isCurrent: $0 == self.section) })</nav>
        <form method="post" action="/console/logout">\(Self.formToken(of: session))<span class="role">\(Self.name(of: session.role))</span>
        <button id="logout" class="quiet">Sign out</button></form>
        </header>
        """
    }

    private static func name(of role: AdminRole) -> HTML {
        switch role {
        case .operator: "operator"
        case .viewer: "viewer"
        }
    }
}

extension ConsolePage.Section {
    fileprivate func link(isCurrent: Bool) -> HTML {
        let (address, title): (HTML, HTML) =
            switch self {
            case .overview: ("/console", "Overview")
            case .reports: ("/console/reports", "Reports")
            case .people: ("/console/people", "People")
            case .bans: ("/console/bans", "Bans")
            case .registration: ("/console/registration", "Registration")
            case .rateClasses: ("/console/rate-classes", "Rate classes")
            case .erasures: ("/console/erasures", "Erasures")
            case .retention: ("/console/retention", "What is kept")
            case .messages: ("/console/messages", "Messages")
            case .wakeUps: ("/console/wake-ups", "Failed pushes")
            case .audit: ("/console/audit", "Audit")
            }
        return "<a href=\"\(address)\"\(isCurrent ? " aria-current=\"page\"" : "" as HTML)>\(title)</a>"
    }
}

// Pieces of several pages.
extension ConsolePage {
    static func formToken(of session: ConsoleSession) -> HTML {
        "<input type=\"hidden\" name=\"form\" value=\"\(session.formToken)\">"
    }

    static func heading(_ title: HTML, _ about: HTML = "") -> HTML {
        "<div class=\"heading\"><h1>\(title)</h1><p>\(about)</p></div>"
    }

    /// A time, with its distance as the tooltip.
    static func time(_ time: Timestamp, at now: Timestamp) -> HTML {
        """
        <time datetime="\(Wording.machineTime(time))" title="\(Wording.distance(of: time, from: now))">\(Wording.time(time))</time>
        """
    }

    /// The distance of a time, with the time as the tooltip.
    static func distance(of time: Timestamp, at now: Timestamp) -> HTML {
        """
        <time datetime="\(Wording.machineTime(time))" title="\(Wording.time(time)) UTC">\(Wording.distance(of: time, from: now))</time>
        """
    }

    /// A link to the audit events of an identity, a report or a message.
    static func subject(_ id: String) -> HTML {
        "<a class=\"id\" href=\"\(URLEncodedForm.address("/console/audit", [("target", id), ("all", "1")]))\">\(id)</a>"
    }

    static func subject(_ id: WhisperID) -> HTML { self.subject(id.description) }

    static func subject(_ id: PrincipalID) -> HTML { self.subject(id.description) }

    static func terms(_ usual: BanTerm) -> HTML {
        let options = BanTerm.allCases.map { term -> HTML in
            "<option value=\"\(term.rawValue)\"\(term == usual ? " selected" : "" as HTML)>\(term.title)</option>"
        }
        return "<select name=\"term\" aria-label=\"How long\">\(options)</select>"
    }

    static func empty(_ text: HTML) -> HTML { "<p class=\"empty\">\(text)</p>" }

    static func confirmation(of done: CompletedChange?) -> HTML? {
        guard let done else { return nil }
        let text: HTML =
            switch done {
            case .dismissed: "The report is dismissed."
            case .warned: "The report is closed with a warning."
            case .banned: "Banned. A live session ends within a second."
            case .lifted: "The ban has ended."
            case .classed: "Done. It counts within seconds, also for a session that is open."
            case .chosen: "Done. It holds for everybody who registers from now on."
            case .erased: "Erased. Nobody logs in with these keys again. Below you see how far the services are."
            case .revoked: "The invitation is revoked. Identities that came with it stay."
            }
        return "<p class=\"done\" role=\"status\">\(text)</p>"
    }

    /// - Parameter address: makes the address of the page that begins at a cursor.
    static func older(_ next: Cursor?, _ address: (String) -> String) -> HTML? {
        next.map { "<p class=\"more\"><a id=\"older\" href=\"\(address($0.text))\">Older</a></p>" }
    }
}

extension Response {
    /// - Parameters:
    ///   - session: nil for somebody who is not signed in.
    ///   - wait: whole seconds, with 429.
    static func page(_ page: ConsolePage, of session: ConsoleSession?, retryAfter wait: Int64? = nil) -> Response {
        var response = Response.console(
            Array(page.document(for: session).text.utf8), type: "text/html; charset=utf-8", status: page.status)
        response.headers[.retryAfter] = wait.map { String($0) }
        return response
    }

    /// The answer to a form that was taken (RFC 9110, 15.4.4).
    static func redirect(_ address: String) -> Response {
        var response = Response.console([], type: "text/plain", status: .seeOther)
        response.headers[.location] = address
        return response
    }

    /// Any answer of the console, with the headers that bind browsers.
    ///
    /// A page may load its own style and icon, and post to its own origin. No site may frame it, no cache may keep it.
    static func console(_ bytes: [UInt8], type: String, status: HTTPResponse.Status = .ok) -> Response {
        let headers = HTTPFields.binding(
            type: type, cacheControl: "no-store",
            policy:
                "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
