import Contract
import HTTPAccess
package import Hummingbird
import Store

/// The operators' pages under `/console`, on the ops listener: the operations of `/admin`, for a browser.
///
/// Both ask `OperatorService`, so the same is allowed, counted and recorded. Pages have no scripts, and load from this
/// origin alone.
package struct ConsoleRoutes: Sendable {
    let service: OperatorService
    let sessions: ConsoleSessions

    package init(service: OperatorService, sessions: ConsoleSessions) {
        self.service = service
        self.sessions = sessions
    }

    /// A request of somebody who is signed in.
    struct Visit: Sendable {
        let request: Request
        let parameters: Parameters
        let session: ConsoleSession
        /// By the database's clock.
        let now: Timestamp

        /// The query of the address.
        var query: URLEncodedForm { URLEncodedForm(Array((self.request.uri.query ?? "").utf8)) ?? URLEncodedForm([])! }

        /// The page of a list that the query asks for.
        func page() throws(HTTPRefusal) -> AdminPage {
            try AdminPage(
                cursor: self.query["cursor"], limit: nil as String?, limitMax: OperatorsLimits.consolePageEntries,
                limitDefault: OperatorsLimits.consolePageEntries)
        }
    }

    private typealias PageHandler = @Sendable (Visit) async throws(HTTPRefusal) -> ConsolePage
    /// - Returns: the address of the page that confirms the change.
    private typealias ChangeHandler =
        @Sendable (Visit, URLEncodedForm, inout AdminGate.Call) async throws(HTTPRefusal) -> String

    package func add(to router: Router<some RequestContext>) {
        router.get("console/console.css") { _, _ in
            Response.console(PackageResources.console_css, type: "text/css; charset=utf-8")
        }
        router.get("console/icon.svg") { _, _ in Response.console(PackageResources.icon_svg, type: "image/svg+xml") }
        router.get("console/login") { request, _ in await self.showLogin(request) }
        router.post("console/login") { request, _ in await self.logIn(request) }
        router.post("console/logout") { request, _ in await self.logOut(request) }
        let pages: [(RouterPath, PageHandler)] = [
            ("console", self.overview), ("console/reports", self.reports), ("console/people", self.people),
            ("console/bans", self.bans), ("console/registration", self.registration),
            ("console/rate-classes", self.rateClasses),
            ("console/erasures", self.erasures), ("console/retention", self.retention),
            ("console/messages", self.messages),
            ("console/wake-ups", self.wakeUps), ("console/audit", self.audit),
        ]
        for (path, page) in pages {
            router.get(path) { await self.show($0, $1.parameters, page) }
        }
        let changes: [(RouterPath, String, ChangeHandler)] = [
            ("console/reports/{id}/review", "reviewReport", self.review), ("console/ban", "ban", self.ban),
            ("console/unban", "unban", self.unban), ("console/registration", "setRegistration", self.choose),
            ("console/invitations/{id}/revoke", "revokeInvitation", self.revokeInvitation),
            ("console/erasures", "createErasure", self.erase),
            ("console/rate-class", "setRateClass", self.setRateClass),
        ]
        for (path, name, change) in changes {
            router.post(path) { await self.change(name, $0, $1.parameters, change) }
        }
        router.post("console/exports") { request, context in
            await self.visit(request, context.parameters) { visit async throws(HTTPRefusal) in
                try await self.changing("createExport", visit) { form, call async throws(HTTPRefusal) in
                    try await self.export(form, &call)
                }
            }
        }
        router.post("console/invitations") { request, context in
            await self.visit(request, context.parameters) { visit async throws(HTTPRefusal) in
                try await self.changing("createInvitation", visit) { form, call async throws(HTTPRefusal) in
                    .page(try await self.invite(visit, form, &call), of: visit.session)
                }
            }
        }
    }

    private func show(_ request: Request, _ parameters: Parameters, _ page: PageHandler) async -> Response {
        await self.visit(request, parameters) { visit async throws(HTTPRefusal) in
            .page(try await page(visit), of: visit.session)
        }
    }

    /// Makes a change, and redirects. Loading the page again then posts nothing twice.
    private func change(
        _ name: String, _ request: Request, _ parameters: Parameters, _ change: ChangeHandler
    ) async -> Response {
        await self.visit(request, parameters) { visit async throws(HTTPRefusal) in
            try await self.changing(name, visit) { form, call async throws(HTTPRefusal) in
                .redirect(try await change(visit, form, &call))
            }
        }
    }

    private func changing(
        _ name: String, _ visit: Visit,
        _ change: (URLEncodedForm, inout AdminGate.Call) async throws(HTTPRefusal) -> Response
    ) async throws(HTTPRefusal) -> Response {
        try await self.service.gate.serve(name, .operator, as: visit.session.role) { call async throws(HTTPRefusal) in
            let form = try await Self.form(of: visit.request, in: visit.session)
            return try await change(form, &call)
        }
    }

    /// Answers whoever is signed in, and sends everybody else to the login page.
    private func visit(
        _ request: Request, _ parameters: Parameters, _ body: (Visit) async throws(HTTPRefusal) -> Response
    ) async -> Response {
        var session: ConsoleSession?
        do throws(HTTPRefusal) {
            guard let found = try await self.session(of: request) else { return .redirect("/console/login") }
            session = found.session
            return try await body(
                Visit(request: request, parameters: parameters, session: found.session, now: found.now))
        } catch {
            return .page(.refusal(error), of: session, retryAfter: error.retryAfter)
        }
    }

    private func session(
        of request: Request
    ) async throws(HTTPRefusal) -> (session: ConsoleSession, now: Timestamp)? {
        guard let cookie = request.cookies[ConsoleCookie.name]?.value, !cookie.isEmpty else { return nil }
        return try await self.service.stored { () async throws(StoreError) in
            try await self.sessions.session(cookie, at: self.service.clock.store)
        }
    }

    // MARK: Forms

    /// - Returns: a form that this session's own pages have posted.
    private static func form(
        of request: Request, in session: ConsoleSession
    ) async throws(HTTPRefusal) -> URLEncodedForm {
        guard let form = await self.form(of: request) else { throw .unreadableForm }
        guard self.isOwn(request), session.owns(formToken: form["form"]) else { throw .foreignForm }
        return form
    }

    private static func form(of request: Request) async -> URLEncodedForm? {
        guard let body = try? await request.body.collect(upTo: OperatorsLimits.adminBodyBytesMax) else { return nil }
        return URLEncodedForm(body.readableBytesView)
    }

    /// Whether the request comes from a page of this origin, if the browser tells (Fetch Metadata).
    ///
    /// For a login this is the only check: without a session its form has no token.
    private static func isOwn(_ request: Request) -> Bool {
        guard let site = request.headers[.init("Sec-Fetch-Site")!] else { return true }
        return site == "same-origin"
    }

    // MARK: Signing in and out

    private func showLogin(_ request: Request) async -> Response {
        if (try? await self.session(of: request)) != nil { return .redirect("/console") }
        return .page(.login(problem: nil), of: nil)
    }

    private func logIn(_ request: Request) async -> Response {
        let role = await Self.form(of: request)?.filled("token").flatMap { self.sessions.role(of: $0) }
        do throws(HTTPRefusal) {
            let session = try await self.service.gate.serve("consoleLogin", .viewer, as: role) {
                call async throws(HTTPRefusal) in
                guard Self.isOwn(request) else { throw .foreignForm }
                // `serve` has refused everybody without a role.
                let session = try await self.service.stored { () async throws(StoreError) in
                    try await self.sessions.begin(as: role!, at: self.service.clock.store)
                }
                guard let session else { throw .noAdminToken }
                return session
            }
            var response = Response.redirect("/console")
            response.setCookie(
                ConsoleCookie.made(
                    String(decoding: Base64.encode(session.id), as: UTF8.self),
                    life: Int(OperatorsLimits.consoleSessionLife.components.seconds), for: request.head.authority))
            return response
        } catch {
            let problem = error.code == .notRegistered ? "No role has this token." : error.message
            return .page(.login(problem: problem, status: error.status), of: nil, retryAfter: error.retryAfter)
        }
    }

    private func logOut(_ request: Request) async -> Response {
        await self.visit(request, Parameters()) { visit async throws(HTTPRefusal) in
            try await self.service.gate.serve("consoleLogout", .viewer, as: visit.session.role) {
                call async throws(HTTPRefusal) in
                _ = try await Self.form(of: request, in: visit.session)
                try await self.service.stored { () async throws(StoreError) in
                    try await self.sessions.end(visit.session)
                }
            }
            var response = Response.redirect("/console/login")
            response.setCookie(ConsoleCookie.made("", life: 0, for: request.head.authority))
            return response
        }
    }
}
