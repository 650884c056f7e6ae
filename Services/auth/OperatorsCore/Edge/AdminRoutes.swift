import Contract
package import HTTPAccess
package import Hummingbird

/// `/admin`, on the ops listener (contract §10): the service's operations, in JSON.
package struct AdminRoutes: Sendable {
    private let service: OperatorService
    private let tokens: AdminTokens

    package init(service: OperatorService, tokens: AdminTokens) {
        self.service = service
        self.tokens = tokens
    }

    private struct AdminRequest {
        let http: Request
        let parameters: Parameters

        /// - Parameters:
        ///   - max: of entries that may be asked for.
        ///   - usual: entries if the request names no number.
        func page(max: Int, default usual: Int) throws(HTTPRefusal) -> AdminPage {
            let parameters = self.http.uri.queryParameters
            return try AdminPage(
                cursor: parameters["cursor"], limit: parameters["limit"], limitMax: max, limitDefault: usual)
        }

        func identity() throws(HTTPRefusal) -> WhisperID {
            guard let id = self.parameters.get("whisperId").flatMap({ WhisperID($0) }) else {
                throw .badParameter("whisperId")
            }
            return id
        }

        func body<Body: HTTPBody>() async throws(HTTPRefusal) -> Body {
            try await JSONBody.read(of: self.http, bytesMax: OperatorsLimits.adminBodyBytesMax)
        }
    }

    private typealias Handler = @Sendable (AdminRequest, inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8]

    package func add(to router: Router<some RequestContext>) {
        let viewer: [(RouterPath, String, Handler)] = [
            ("admin/stats", "getStats", self.readStatistics), ("admin/reports", "listReports", self.listReports),
            ("admin/bans", "listBans", self.listBans), ("admin/audit", "listAudit", self.listAudit),
            ("admin/messages/{messageId}", "getMessage", self.readMessage),
            ("admin/push/dead-letters", "listDeadLetters", self.listDeadLetters),
            ("admin/registration", "getRegistration", self.readRegistration),
            ("admin/invitations", "listInvitations", self.listInvitations),
            ("admin/erasures", "listErasures", self.listErasures),
            ("admin/erasures/{id}", "getErasure", self.readErasure),
            ("admin/identities/{whisperId}", "getIdentity", self.readIdentity),
            ("admin/retention", "listRetention", self.listRetention),
            ("admin/rate-classes", "listRateClasses", self.listRateClasses),
        ]
        for (path, name, handler) in viewer {
            router.get(path) {
                try await self.serve(name, .viewer, AdminRequest(http: $0, parameters: $1.parameters), handler)
            }
        }
        let changes: [(HTTPRequest.Method, RouterPath, String, Handler)] = [
            (.post, "admin/reports/{id}/review", "reviewReport", self.review), (.post, "admin/ban", "ban", self.ban),
            (.post, "admin/unban", "unban", self.unban),
            (.put, "admin/registration", "setRegistration", self.setRegistration),
            (.delete, "admin/registration", "resetRegistration", self.resetRegistration),
            (.post, "admin/invitations", "createInvitation", self.invite),
            (.delete, "admin/invitations/{id}", "revokeInvitation", self.revokeInvitation),
            (.post, "admin/erasures", "createErasure", self.erase),
            (.put, "admin/identities/{whisperId}/rate-class", "setRateClass", self.setRateClass),
        ]
        for (method, path, name, handler) in changes {
            router.on(path, method: method) {
                try await self.serve(name, .operator, AdminRequest(http: $0, parameters: $1.parameters), handler)
            }
        }
        router.post("admin/exports") {
            try await self.giveExport(AdminRequest(http: $0, parameters: $1.parameters))
        }
    }

    private func serve(
        _ name: String, _ least: AdminRole, _ request: AdminRequest, _ handler: Handler
    ) async throws(HTTPRefusal) -> Response {
        .answer(try await self.body(name, least, request, handler))
    }

    private func body(
        _ name: String, _ least: AdminRole, _ request: AdminRequest, _ handler: Handler
    ) async throws(HTTPRefusal) -> [UInt8] {
        let role = self.tokens.role(of: request.http)
        return try await self.service.gate.serve(name, least, as: role) { call async throws(HTTPRefusal) in
            try await handler(request, &call)
        }
    }

    // MARK: Reading

    private func readStatistics(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        let figures = try await self.service.figures()
        return AdminAnswers.statistics(figures.statistics, online: figures.online)
    }

    private func listReports(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8]
    {
        let page = try request.page(max: 100, default: 50)
        var status: AdminOperations.ReportStatus?
        if let text = request.http.uri.queryParameters["status"] {
            guard let known = AdminOperations.ReportStatus(rawValue: String(text)) else {
                throw .badParameter("status")
            }
            status = known
        }
        return AdminAnswers.reports(try await self.service.reports(status, page), page)
    }

    private func listBans(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8] {
        let page = try request.page(max: 1_000, default: 1_000)
        return AdminAnswers.bans(try await self.service.bans(page), page)
    }

    private func listAudit(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8] {
        let page = try request.page(max: 100, default: 50)
        let target = request.http.uri.queryParameters["target"].map { String($0) }
        return AdminAnswers.events(try await self.service.events(about: target, page), page)
    }

    private func readMessage(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8]
    {
        guard let id = request.parameters.get("messageId").flatMap({ UUIDText($0) }) else {
            throw .badParameter("messageId")
        }
        let found = try await self.service.deliveries(of: id, &call)
        return AdminAnswers.message(id, found.deliveries, found.wakes)
    }

    private func readIdentity(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        AdminAnswers.person(try await self.service.person(try request.identity(), &call))
    }

    private func listRateClasses(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        AdminAnswers.rateClasses(self.service.rateClassing.classes, try await self.service.rateClassGrants())
    }

    private func listDeadLetters(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        let page = try request.page(max: 100, default: 50)
        return AdminAnswers.deadLetters(try await self.service.deadLetters(page), page)
    }

    // MARK: Changing

    private func ban(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8] {
        try await self.service.ban(try await request.body(), &call)
        return AdminAnswers.success
    }

    private func unban(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8] {
        try await self.service.unban(try await request.body(), &call)
        return AdminAnswers.success
    }

    private func setRateClass(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        let body: PeopleOperations.SetRateClass = try await request.body()
        try await self.service.setRateClass(body.rateClass, of: try request.identity(), reason: body.reason, &call)
        return AdminAnswers.success
    }

    private func review(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8] {
        guard let id = request.parameters.get("id").flatMap({ UUIDText($0) }) else { throw .badParameter("id") }
        call.event.target = "\(UUIDText(high: id.high, low: id.low))"
        try await self.service.review(id, try await request.body(), &call)
        return AdminAnswers.success
    }

    // MARK: Registration

    private func readRegistration(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        AdminAnswers.registration(try await self.service.registration())
    }

    private func setRegistration(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        let body: DoorOperations.SetRegistration = try await request.body()
        try await self.service.choose(body.mode, reason: body.reason, &call)
        return AdminAnswers.success
    }

    private func resetRegistration(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        try await self.service.choose(nil, reason: nil, &call)
        return AdminAnswers.success
    }

    private func listInvitations(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        let page = try request.page(max: 100, default: 50)
        return AdminAnswers.invitations(try await self.service.invitations(page), page)
    }

    private func invite(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8] {
        AdminAnswers.invitation(try await self.service.invite(try await request.body(), &call))
    }

    private func revokeInvitation(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        guard let id = request.parameters.get("id").flatMap({ UUIDText($0) }) else { throw .badParameter("id") }
        try await self.service.revokeInvitation(id, &call)
        return AdminAnswers.success
    }

    // MARK: Erasures

    private func erase(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8] {
        AdminAnswers.decision(try await self.service.erase(try await request.body(), &call))
    }

    private func giveExport(_ request: AdminRequest) async throws(HTTPRefusal) -> Response {
        .download(
            try await self.body("createExport", .operator, request, self.export), as: "whisper-export.json")
    }

    private func export(_ request: AdminRequest, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> [UInt8] {
        try await self.service.export(try await request.body(), &call)
    }

    private func listRetention(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        AdminAnswers.retention(self.service.kept)
    }

    private func listErasures(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        let page = try request.page(max: 100, default: 50)
        return AdminAnswers.erasures(try await self.service.erasures(page), page)
    }

    private func readErasure(
        _ request: AdminRequest, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        guard let id = request.parameters.get("id").flatMap({ UUIDText($0) }) else { throw .badParameter("id") }
        return AdminAnswers.erasure(try await self.service.erasure(id))
    }
}
