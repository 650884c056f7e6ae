import Contract
import HTTPAccess
import Hummingbird

// Changes. The fields of a form become a body of the API, so that the same schema judges both.
extension ConsoleRoutes {
    func review(
        _ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> String {
        guard let id = visit.parameters.get("id").flatMap({ UUIDText($0) }) else { throw .badParameter("id") }
        var json = JSONWriter()
        json.add("decision", form["decision"])
        json.add("note", form.filled("note"))
        if let end = try Self.term(form)?.end(from: visit.now) { json.add("expiresAt", end) }
        let body = try JSONBody.read(AdminOperations.Review.self, in: json.finished())
        try await self.service.review(id, body, &call)
        let done: CompletedChange =
            switch body.decision {
            case .dismiss: .dismissed
            case .warn: .warned
            case .ban: .banned
            }
        return URLEncodedForm.address("/console/reports", [("done", done.rawValue)])
    }

    func ban(_ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> String {
        var json = Self.principal(form)
        json.add("reason", form.filled("reason"))
        if let end = try Self.term(form)?.end(from: visit.now) { json.add("expiresAt", end) }
        try await self.service.ban(try JSONBody.read(in: json.finished()), &call)
        return URLEncodedForm.address("/console/bans", [("done", CompletedChange.banned.rawValue)])
    }

    func unban(_ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> String
    {
        var json = Self.principal(form)
        json.add("reason", form.filled("reason"))
        try await self.service.unban(try JSONBody.read(in: json.finished()), &call)
        return URLEncodedForm.address("/console/bans", [("done", CompletedChange.lifted.rawValue)])
    }

    func erase(
        _ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> String {
        var json = Self.principal(form)
        for name in ["confirm", "sentMail", "reason"] as [StaticString] {
            json.add(name, form.filled("\(name)"))
        }
        _ = try await self.service.erase(try JSONBody.read(in: json.finished()), &call)
        return URLEncodedForm.address("/console/erasures", [("done", CompletedChange.erased.rawValue)])
    }

    func setRateClass(
        _ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> String {
        guard let id = form.filled("whisperId").flatMap({ WhisperID($0) }) else { throw .badParameter("whisperId") }
        guard let name = form.filled("rateClass") else { throw .badParameter("rateClass") }
        var json = JSONWriter()
        json.add("rateClass", name == RateClassName.none ? nil : name)
        json.add("reason", form.filled("reason"))
        let body = try JSONBody.read(PeopleOperations.SetRateClass.self, in: json.finished())
        try await self.service.setRateClass(body.rateClass, of: id, reason: body.reason, &call)
        return URLEncodedForm.address(
            "/console/people", [("id", "\(id)"), ("done", CompletedChange.classed.rawValue)])
    }

    /// The answer is the file.
    func export(_ form: URLEncodedForm, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> Response {
        var json = Self.principal(form)
        json.add("reason", form.filled("reason"))
        let document = try await self.service.export(try JSONBody.read(in: json.finished()), &call)
        return .download(document, as: "whisper-export.json")
    }

    func choose(
        _ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> String {
        let isUsual = form["mode"] == "default"
        var json = JSONWriter()
        // The reason has the bound of the API's, also without a mode.
        json.add("mode", isUsual ? RegistrationMode.open.rawValue : form["mode"])
        json.add("reason", form.filled("reason"))
        let body = try JSONBody.read(DoorOperations.SetRegistration.self, in: json.finished())
        try await self.service.choose(isUsual ? nil : body.mode, reason: body.reason, &call)
        return URLEncodedForm.address("/console/registration", [("done", CompletedChange.chosen.rawValue)])
    }

    func revokeInvitation(
        _ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> String {
        guard let id = visit.parameters.get("id").flatMap({ UUIDText($0) }) else { throw .badParameter("id") }
        try await self.service.revokeInvitation(id, &call)
        return URLEncodedForm.address("/console/registration", [("done", CompletedChange.revoked.rawValue)])
    }

    /// The answer is the page itself: an address that carries a token would stay in the browser's history.
    func invite(
        _ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> ConsolePage {
        guard let uses = form.filled("uses").flatMap({ Int64($0) }) else { throw .badParameter("uses") }
        guard let days = form.filled("days").flatMap({ Int64($0) }), (1...90).contains(days) else {
            throw .badParameter("days")
        }
        var json = JSONWriter()
        json.add("uses", uses)
        json.add("expiresInSeconds", days * 86_400)
        json.add("label", form.filled("label"))
        json.add("rateClass", form.filled("rateClass"))
        let host = form.filled("host")
        guard host.map(InvitationLinks.isAddress) ?? true else { throw .badParameter("host") }
        let made = try await self.service.invite(try JSONBody.read(in: json.finished()), &call)
        return .invited(made, host.flatMap { InvitationLinks(made.token.text, host: $0) }, uses: uses)
    }

    /// The body begins with whom it is about. One field of the form takes identities and guests.
    private static func principal(_ form: URLEncodedForm) -> JSONWriter {
        var json = JSONWriter()
        let id = form.filled("whisperId")
        json.add(id?.hasPrefix(GuestID.prefix) == true ? "guestId" : "whisperId", id)
        return json
    }

    private static func term(_ form: URLEncodedForm) throws(HTTPRefusal) -> BanTerm? {
        guard let word = form["term"] else { return nil }
        guard let term = BanTerm(rawValue: word) else { throw .badParameter("term") }
        return term
    }
}
