import Contract
import HTTPAccess

// Changes. The fields of a form become a body of the API, so that the same schema judges both.
extension ConsoleRoutes {
    func review(_ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> String {
        guard let id = visit.parameters.get("id").flatMap({ UUIDText($0) }) else { throw .badParameter("id") }
        var json = JSONWriter()
        json.add("decision", form["decision"])
        json.add("note", form.filled("note"))
        let body = try JSONBody.payload(json.finished(), AdminOperations.review)
        let end = try Self.term(form)?.end(from: visit.now)
        try await self.service.review(id, body, banUntil: end, &call)
        let done: CompletedChange =
            switch form["decision"].flatMap({ AdminOperations.Decision(rawValue: $0) }) {
            case .dismiss: .dismissed
            case .warn: .warned
            case .ban, nil: .banned
            }
        return URLEncodedForm.address("/console/reports", [("done", done.rawValue)])
    }

    func ban(_ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> String {
        var json = JSONWriter()
        json.add("whisperId", form.filled("whisperId"))
        json.add("reason", form.filled("reason"))
        if let end = try Self.term(form)?.end(from: visit.now) { json.add("expiresAt", end) }
        try await self.service.ban(try JSONBody.payload(json.finished(), AdminOperations.ban), &call)
        return URLEncodedForm.address("/console/bans", [("done", CompletedChange.banned.rawValue)])
    }

    func unban(_ visit: Visit, _ form: URLEncodedForm, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> String {
        var json = JSONWriter()
        json.add("whisperId", form.filled("whisperId"))
        json.add("reason", form.filled("reason"))
        try await self.service.unban(try JSONBody.payload(json.finished(), AdminOperations.unban), &call)
        return URLEncodedForm.address("/console/bans", [("done", CompletedChange.lifted.rawValue)])
    }

    private static func term(_ form: URLEncodedForm) throws(HTTPRefusal) -> BanTerm? {
        guard let word = form["term"] else { return nil }
        guard let term = BanTerm(rawValue: word) else { throw .badParameter("term") }
        return term
    }
}
