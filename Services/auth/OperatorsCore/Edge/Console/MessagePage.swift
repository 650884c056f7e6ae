import ClusterContract
package import Contract
package import HTTPAccess

extension ConsolePage {
    /// The result of looking something up by its id.
    package enum LookUp<Found: Sendable>: Sendable {
        case nothing
        case refused(HTTPRefusal)
        case found(Found)

        var refusal: HTTPRefusal? { if case .refused(let refusal) = self { refusal } else { nil } }
        var found: Found? { if case .found(let found) = self { found } else { nil } }
    }

    static func problem(_ refusal: HTTPRefusal) -> HTML {
        "<p class=\"problem\" role=\"alert\">\(refusal.message)</p>"
    }

    /// - Parameter asked: the id as the operator typed it.
    package static func message(
        asked: String, _ lookUp: LookUp<OperatorService.MessageDeliveries>, at now: Timestamp
    ) -> ConsolePage {
        let deliveries = lookUp.found.map { found -> HTML in
            "<div class=\"stack\">\(found.deliveries.map { self.delivery($0, found.wakes[$0.recipient], at: now) })</div>"
        }
        return ConsolePage(
            .messages, title: "Messages", status: lookUp.refusal?.status ?? .ok,
            body: """
                \(self.heading("Messages", "Where a message stands with each recipient. Known for 14 days; never its content."))
                <form method="get" action="/console/messages" class="card actions">
                <input name="id" id="id" class="id" required maxlength="40" value="\(asked)" placeholder="messageId" aria-label="Message id" autocomplete="off" spellcheck="false">
                <button id="find" class="main">Look up</button>
                </form>
                \(lookUp.refusal.map { self.problem($0) })
                \(deliveries)
                """)
    }

    private static func delivery(
        _ delivery: ClusterViews.Delivery, _ wake: PushViews.LastWakeUp?, at now: Timestamp
    ) -> HTML {
        let start = delivery.acceptedAt
        let steps = [
            self.step("Accepted", start, nil), self.step("Delivered", delivery.deliveredAt, start),
            self.step("Read", delivery.readAt, start), self.step("Expired", delivery.expiredAt, start),
        ].compactMap { $0 }
        // A wake-up from before the message, or from after its arrival, was for another one.
        let own = wake.flatMap { $0.at >= start && $0.at <= delivery.deliveredAt ?? $0.at ? $0 : nil }
        return """
            <article class="card delivery">
            <header><p class="parties">\(self.subject(delivery.sender)) <span>to</span> \(self.subject(delivery.recipient))</p>
            <p><span class="tag \(self.tone(delivery.status))" id="status">\(delivery.status.rawValue)</span></p></header>
            \(delivery.group.map { "<p class=\"small\">In the group <span class=\"id\">\(GroupIDText.prefix)\($0)</span></p>" } as HTML?)
            <ol class="steps">\(steps)</ol>
            \(self.wake(own, of: delivery, at: now))
            </article>
            """
    }

    private static func tone(_ status: AdminOperations.MessageStatus) -> HTML {
        switch status {
        case .pending: "calm"
        case .delivered, .read: "good"
        case .expired: "bad"
        }
    }

    private static func step(_ name: HTML, _ time: Timestamp?, _ start: Timestamp?) -> HTML? {
        guard let time else { return nil }
        return """
            <li><b>\(name)</b><time datetime="\(Wording.machineTime(time))">\(Wording.time(time))</time>\(start.map { "<span class=\"when\">\(Wording.step(from: $0, to: time))</span>" } as HTML?)</li>
            """
    }

    /// A message that has arrived needs no wake-up any more. Its result is told, but not as a fault.
    private static func wake(
        _ wake: PushViews.LastWakeUp?, of delivery: ClusterViews.Delivery, at now: Timestamp
    ) -> HTML {
        let hasArrived = delivery.status == .delivered || delivery.status == .read
        guard let wake else { return hasArrived ? "" : "<p class=\"small\">No wake-up was pushed for it.</p>" }
        let after = Wording.step(from: delivery.acceptedAt, to: wake.at)
        guard !hasArrived else {
            return """
                <p class="small">Arrived. Before that a wake-up was pushed: \(wake.provider), \(foreign: wake.result), \(after). <span class="id">\(wake.wakeID)</span></p>
                """
        }
        return """
            <dl class="facts"><div><dt>Last wake-up</dt><dd>\(wake.provider), \(foreign: wake.result)</dd></div>
            <div><dt>Tried</dt><dd>\(self.time(wake.at, at: now)) \(after)</dd></div>
            <div><dt>Device back</dt><dd>\(wake.wokeAt.map { self.time($0, at: now) } ?? "not seen yet")</dd></div>
            <div><dt>Wake id</dt><dd class="id">\(wake.wakeID)</dd></div></dl>
            """
    }
}
