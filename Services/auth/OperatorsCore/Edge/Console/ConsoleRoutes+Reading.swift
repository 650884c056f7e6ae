package import Contract
package import HTTPAccess
import Store

// The pages that viewers see.
extension ConsoleRoutes {
    func overview(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        let few = AdminPage(limit: OperatorsLimits.consoleOverviewEntries)
        return try await self.service.gate.serve("getOverview", .viewer, as: visit.session.role) {
            call async throws(HTTPRefusal) in
            let figures = try await self.service.figures()
            return .overview(
                figures, changes: try await self.service.events(.changes, about: nil, few),
                deadLetters: try await self.service.deadLetters(few),
                fullest: try await self.service.fullestMailboxes(few.limit),
                health: try await self.service.health(at: visit.now, gateways: figures.gateways), shown: few.limit,
                isLive: visit.query["live"] != nil, at: visit.now)
        }
    }

    func reports(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        let filter = try ReportFilter(visit.query["status"])
        let page = try visit.page()
        let entries = try await self.service.gate.serve("listReports", .viewer, as: visit.session.role) {
            call async throws(HTTPRefusal) in
            try await self.service.reports(filter.status, page)
        }
        return .reports(
            entries.prefix(page.limit), filter, next: page.next(after: entries, \.number),
            done: CompletedChange(visit.query), visit)
    }

    func bans(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        let page = try visit.page()
        let entries = try await self.service.gate.serve("listBans", .viewer, as: visit.session.role) {
            call async throws(HTTPRefusal) in
            try await self.service.bans(page)
        }
        return .bans(
            entries.prefix(page.limit), next: page.next(after: entries, \.number), done: CompletedChange(visit.query),
            visit)
    }

    func messages(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        let lookUp = try await self.lookUp("getMessage", visit) { text, call async throws(HTTPRefusal) in
            guard let id = UUIDText(text) else { throw .badParameter("messageId") }
            return try await self.service.deliveries(of: id, &call)
        }
        return .message(asked: visit.query.filled("id") ?? "", lookUp, at: visit.now)
    }

    func people(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        if let text = visit.query.filled("id"), let guest = GuestID(text.lowercased()) {
            return .people(asked: text, guest, of: visit.session)
        }
        let lookUp = try await self.lookUp("getIdentity", visit) { text, call async throws(HTTPRefusal) in
            guard let id = WhisperID(text.uppercased()) else { throw .badParameter("whisperId") }
            return try await self.service.person(id, &call)
        }
        return .people(
            asked: visit.query.filled("id") ?? "", lookUp, classes: self.service.rateClassing.classes,
            done: CompletedChange(visit.query), of: visit.session, at: visit.now)
    }

    /// Looks up what the query names by `id`. An unknown id is an answer: the page says so beside its field.
    private func lookUp<Found: Sendable>(
        _ action: String, _ visit: Visit,
        _ find: (String, inout AdminGate.Call) async throws(HTTPRefusal) -> Found
    ) async throws(HTTPRefusal) -> ConsolePage.LookUp<Found> {
        guard let text = visit.query.filled("id") else { return .nothing }
        do throws(HTTPRefusal) {
            return .found(
                try await self.service.gate.serve(action, .viewer, as: visit.session.role) {
                    call async throws(HTTPRefusal) in
                    try await find(text, &call)
                })
        } catch {
            guard error.code == .notFound || error.code == .invalidPayload else { throw error }
            return .refused(error)
        }
    }

    func registration(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        let page = try visit.page()
        let (registration, invitations) = try await self.service.gate.serve(
            "listInvitations", .viewer, as: visit.session.role
        ) { call async throws(HTTPRefusal) in
            (try await self.service.registration(), try await self.service.invitations(page))
        }
        return .registration(
            registration, invitations.prefix(page.limit), classes: self.service.rateClassing.classes,
            next: page.next(after: invitations, \.number),
            done: CompletedChange(visit.query), of: visit.session, at: visit.now)
    }

    func rateClasses(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        try await self.service.gate.serve("listRateClasses", .viewer, as: visit.session.role) {
            call async throws(HTTPRefusal) in
            .rateClasses(self.service.rateClassing.classes, try await self.service.rateClassGrants())
        }
    }

    func erasures(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        let page = try visit.page()
        let (open, all) = try await self.service.gate.serve("listErasures", .viewer, as: visit.session.role) {
            call async throws(HTTPRefusal) in
            (
                page.cursor == nil ? try await self.service.openErasures(page) : [],
                try await self.service.erasures(page)
            )
        }
        let shown = Set(open.prefix(page.limit).map(\.number))
        let others = all.prefix(page.limit).filter { !shown.contains($0.number) }
        return .erasures(
            open: open.prefix(page.limit), others[...], next: page.next(after: all, \.number),
            done: CompletedChange(visit.query), at: visit.now)
    }

    func retention(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        try await self.service.gate.serve("listRetention", .viewer, as: visit.session.role) {
            call async throws(HTTPRefusal) in .retention(self.service.kept)
        }
    }

    func wakeUps(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        let page = try visit.page()
        let letters = try await self.service.gate.serve("listDeadLetters", .viewer, as: visit.session.role) {
            call async throws(HTTPRefusal) in
            try await self.service.deadLetters(page)
        }
        return .wakeUps(letters.prefix(page.limit), next: page.next(after: letters, \.number), at: visit.now)
    }

    func audit(_ visit: Visit) async throws(HTTPRefusal) -> ConsolePage {
        let page = try visit.page()
        let (target, isAll) = (visit.query.filled("target"), visit.query["all"] != nil)
        let entries = try await self.service.gate.serve("listAudit", .viewer, as: visit.session.role) {
            call async throws(HTTPRefusal) in
            try await self.service.events(isAll ? .all : .changes, about: target, page)
        }
        return .audit(
            entries.prefix(page.limit), target: target, isAll: isAll, next: page.next(after: entries, \.number),
            at: visit.now)
    }
}

/// Which reports are shown: the open ones by default.
package struct ReportFilter: Equatable, Sendable {
    package static let all = "all"

    /// Nil for all.
    package var status: AdminOperations.ReportStatus?

    package init(_ text: String?) throws(HTTPRefusal) {
        switch text {
        case nil: self.status = .open
        case Self.all: self.status = nil
        case let text?:
            guard let status = AdminOperations.ReportStatus(rawValue: text) else { throw .badParameter("status") }
            self.status = status
        }
    }
}

/// The change that the last form made, for a line at the top of the next page.
package enum CompletedChange: String, Sendable {
    case dismissed, warned, banned, lifted, classed, chosen, revoked, erased

    init?(_ query: URLEncodedForm) {
        guard let word = query["done"] else { return nil }
        self.init(rawValue: word)
    }
}
