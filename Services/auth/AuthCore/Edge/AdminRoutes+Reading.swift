import Bus
import Contract
import HTTPAccess
import Hummingbird
import Store

// What viewers may ask.
extension AdminRoutes {
    func readStatistics(_ call: inout Call) async throws(HTTPRefusal) -> [UInt8] {
        let now = self.clock()
        let statistics = try await self.stored { () async throws(StoreError) in try await self.views.statistics(at: now) }
        return AdminAnswers.statistics(statistics, online: try await self.online(of: statistics.sessions, at: now))
    }

    /// How many have a connection: those of the identities with a session whose presence key is there. Exact up to
    /// `AuthLimits.onlineSampleMax` of them; beyond, projected from that many.
    private func online(of sessions: Int64, at now: Timestamp) async throws(HTTPRefusal) -> Int64 {
        let sample = try await self.stored { () async throws(StoreError) in
            try await self.views.sample(limit: AuthLimits.onlineSampleMax, at: now)
        }
        var online: Int64 = 0
        for start in stride(from: 0, to: sample.count, by: AuthLimits.presencesPerReadMax) {
            let part = sample[start..<min(start + AuthLimits.presencesPerReadMax, sample.count)]
            do throws(BusError) {
                online += Int64(try await self.keys.get(part.map { Keyspace.presence($0) }).count { $0 != nil })
            } catch {
                throw .internalError
            }
        }
        guard sample.count == AuthLimits.onlineSampleMax, sessions > Int64(sample.count) else { return online }
        return online * sessions / Int64(sample.count)
    }

    func listReports(_ call: inout Call) async throws(HTTPRefusal) -> [UInt8] {
        let page = try Page(call.request, limitMax: 100, limitDefault: 50)
        var status: AdminOperations.ReportStatus?
        if let text = call.request.uri.queryParameters["status"] {
            guard let known = AdminOperations.ReportStatus(rawValue: String(text)) else { throw .badParameter("status") }
            status = known
        }
        let entries = try await self.stored { () async throws(StoreError) in
            try await self.reports.list(status, before: page.cursor, limit: page.limit + 1)
        }
        return AdminAnswers.reports(entries, limit: page.limit)
    }

    func listBans(_ call: inout Call) async throws(HTTPRefusal) -> [UInt8] {
        let page = try Page(call.request, limitMax: 1_000, limitDefault: 1_000)
        let now = self.clock()
        let entries = try await self.stored { () async throws(StoreError) in
            try await self.bans.list(before: page.cursor, limit: page.limit + 1, at: now)
        }
        return AdminAnswers.bans(entries, limit: page.limit)
    }

    func listAudit(_ call: inout Call) async throws(HTTPRefusal) -> [UInt8] {
        let page = try Page(call.request, limitMax: 100, limitDefault: 50)
        let target = call.request.uri.queryParameters["target"].map { String($0) }
        if let target, !(1...64).contains(target.utf8.count) || target.utf8.contains(0) { throw .badParameter("target") }
        let events = try await self.stored { () async throws(StoreError) in
            try await self.audit.list(target: target, before: page.cursor, limit: page.limit + 1)
        }
        return AdminAnswers.events(events, limit: page.limit)
    }

    func readMessage(_ call: inout Call) async throws(HTTPRefusal) -> [UInt8] {
        guard let id = call.parameters.get("messageId").flatMap({ UUIDText($0) }) else { throw .badParameter("messageId") }
        call.event.target = "\(id)"
        let deliveries = try await self.stored { () async throws(StoreError) in try await self.views.deliveries(of: id) }
        guard !deliveries.isEmpty else { throw .unknownMessage }
        let recipients = deliveries.map(\.recipient)
        let standing = try await self.stored { () async throws(StoreError) in try await self.push.standing(of: recipients) }
        return AdminAnswers.message(id, deliveries, standing)
    }

    func listDeadLetters(_ call: inout Call) async throws(HTTPRefusal) -> [UInt8] {
        let page = try Page(call.request, limitMax: 100, limitDefault: 50)
        let letters = try await self.stored { () async throws(StoreError) in
            try await self.push.deadLetters(before: page.cursor, limit: page.limit + 1)
        }
        return AdminAnswers.deadLetters(letters, limit: page.limit)
    }

    /// Which part of a list is asked for.
    private struct Page {
        var cursor: Cursor?
        var limit: Int

        init(_ request: Request, limitMax: Int, limitDefault: Int) throws(HTTPRefusal) {
            let parameters = request.uri.queryParameters
            self.limit = limitDefault
            if let text = parameters["limit"] {
                guard let limit = Int(text), (1...limitMax).contains(limit) else { throw .badParameter("limit") }
                self.limit = limit
            }
            if let text = parameters["cursor"] {
                guard let cursor = Cursor(String(text)) else { throw .badParameter("cursor") }
                self.cursor = cursor
            }
        }
    }
}
