package import ClusterContract
package import Contract

/// The bodies that operators are answered with (contract §13).
package enum AdminAnswers {
    package static let success: [UInt8] = {
        var json = JSONWriter(capacity: 16)
        json.add("success", true)
        return json.finished()
    }()

    package static func statistics(_ statistics: ClusterViews.Statistics, online: Int64) -> [UInt8] {
        var attachments = JSONWriter(capacity: 48)
        attachments.add("count", statistics.attachments)
        attachments.add("bytes", statistics.attachmentBytes)
        let clients = (ClientKind.allCases + [nil]).map { client in
            "\"\(client?.rawValue ?? "unknown")\":\(statistics.devicesByClient[client] ?? 0)"
        }.joined(separator: ",")
        var json = JSONWriter(capacity: 512)
        json.add("users", statistics.users)
        json.add("devices", statistics.devices)
        json.add("devicesByClient", json: Array("{\(clients)}".utf8))
        json.add("sessions", statistics.sessions)
        json.add("online", online)
        json.add("pendingMessages", statistics.pendingMessages)
        json.add("groups", statistics.groups)
        json.add("attachments", json: attachments.finished())
        json.add("reportsOpen", statistics.reportsOpen)
        json.add("bansActive", statistics.bansActive)
        json.add("guests", statistics.guests)
        json.add("profiles", statistics.profiles)
        json.add("conversations", statistics.conversations)
        json.add("streams", statistics.streams)
        json.add("listeners", statistics.listeners)
        json.add("rooms", statistics.rooms)
        json.add("transcriptLines", statistics.transcriptLines)
        return json.finished()
    }

    package static func reports(_ entries: [ReportTable.Entry], _ page: AdminPage) -> [UInt8] {
        self.list("reports", entries, page, number: \.number) { entry in
            var json = JSONWriter(capacity: 256)
            json.add("id", entry.id)
            if let reporter = entry.reporter { json.add("reporterId", reporter) }
            json.add("targetId", entry.target)
            json.add("reason", entry.reason)
            json.add("note", entry.note)
            json.add("evidenceVerified", entry.evidence == .verified)
            json.add("status", entry.status)
            json.add("createdAt", entry.createdAt)
            if let reviewedAt = entry.reviewedAt { json.add("reviewedAt", reviewedAt) }
            return json.finished()
        }
    }

    package static func bans(_ entries: [BanTable.Entry], _ page: AdminPage) -> [UInt8] {
        self.list("bans", entries, page, number: \.number) { entry in
            var json = JSONWriter()
            switch entry.principal {
            case .identity(let identity): json.add("whisperId", identity)
            case .guest(let guest): json.add("guestId", "\(guest)")
            }
            json.add("reason", entry.reason)
            json.add("createdAt", entry.createdAt)
            if let expiresAt = entry.expiresAt { json.add("expiresAt", expiresAt) }
            return json.finished()
        }
    }

    package static func events(_ entries: [AuditTable.Entry], _ page: AdminPage) -> [UInt8] {
        self.list("events", entries, page, number: \.number) { entry in
            var json = JSONWriter()
            json.add("at", entry.at)
            json.add("actor", entry.event.actor.rawValue)
            json.add("action", entry.event.action)
            json.add("target", entry.event.target)
            json.add("result", entry.event.result)
            json.add("note", entry.event.note)
            return json.finished()
        }
    }

    package static func registration(_ registration: OperatorService.Registration) -> [UInt8] {
        var json = JSONWriter(capacity: 64)
        json.add("mode", registration.mode.rawValue)
        json.add("isDefault", registration.isDefault)
        if let time = registration.changedAt { json.add("changedAt", time) }
        return json.finished()
    }

    package static func invitation(_ invitation: OperatorService.NewInvitation) -> [UInt8] {
        var json = JSONWriter(capacity: 128)
        json.add("invitationId", invitation.id)
        json.add("token", invitation.token.text)
        json.add("expiresAt", invitation.expiresAt)
        return json.finished()
    }

    package static func invitations(_ entries: [DoorTable.Invitation], _ page: AdminPage) -> [UInt8] {
        self.list("invitations", entries, page, number: \.number) { entry in
            var json = JSONWriter()
            json.add("invitationId", entry.id)
            json.add("usesLeft", entry.usesLeft)
            json.add("usesMax", entry.usesMax)
            json.add("expiresAt", entry.expiresAt)
            if let time = entry.revokedAt { json.add("revokedAt", time) }
            json.add("label", entry.label)
            json.add("rateClass", entry.rateClass)
            json.add("createdAt", entry.createdAt)
            json.add("byIdentity", entry.isByPerson)
            return json.finished()
        }
    }

    package static func decision(_ decision: OperatorService.Decision) -> [UInt8] {
        var json = JSONWriter(capacity: 96)
        json.add("erasureId", decision.id)
        json.add("decidedAt", decision.decidedAt)
        return json.finished()
    }

    package static func erasures(_ entries: [ErasedRecords.Entry], _ page: AdminPage) -> [UInt8] {
        self.list("erasures", entries, page, number: \.number, self.erasure)
    }

    package static func erasure(_ entry: ErasedRecords.Entry) -> [UInt8] {
        var json = JSONWriter()
        json.add("erasureId", entry.id)
        json.add("by", entry.origin)
        json.add("decidedAt", entry.decidedAt)
        if let time = entry.finishedAt { json.add("finishedAt", time) }
        json.add("waitingFor", strings: entry.waitingFor)
        return json.finished()
    }

    package static func person(_ person: PersonViews.Person) -> [UInt8] {
        var json = JSONWriter(capacity: 256)
        json.add("whisperId", person.id)
        json.add("createdAt", person.createdAt)
        json.add("seenOn", person.seenOn)
        json.add("platform", person.platform)
        json.add("isBanned", person.isBanned)
        json.add("rateClass", person.rateClass)
        json.add("waitingMessages", person.waitingMessages)
        json.add("groups", person.groups)
        json.add("files", person.files)
        json.add("fileBytes", person.fileBytes)
        return json.finished()
    }

    /// - Parameter grants: also of classes that the settings have lost.
    package static func rateClasses(_ classes: RateClasses, _ grants: [RateClassGrant]) -> [UInt8] {
        var json = JSONWriter(capacity: 256 + 24 * grants.count)
        json.add("classes", objects: RateClassMembers(classes, grants).all) { entry, json in
            json.add("name", entry.name.description)
            json.add("isKnown", entry.isKnown)
            json.add("rates", objects: entry.rates) { rate, json in
                json.add("name", rate.name)
                json.add("uses", Int64(rate.change.uses))
                json.add("burst", Int64(rate.change.burst))
            }
            json.add("whisperIds", strings: entry.identities.map { "\($0)" })
        }
        return json.finished()
    }

    package static func retention(_ kept: KeptRecords) -> [UInt8] {
        var json = JSONWriter(capacity: 256 * KeptRecord.all.count)
        json.add("records", objects: KeptRecord.all) { record, json in
            json.add("name", record.name)
            json.add("about", record.about)
            json.add("places", strings: record.places)
            json.add("until", record.until)
            if let time = kept.time(of: record) { json.add("seconds", time.components.seconds) }
            if let time = record.usual { json.add("usualSeconds", time.components.seconds) }
            if let setting = record.setting {
                json.add("setting", setting.name)
                json.add("leastSeconds", setting.least.components.seconds)
                json.add("mostSeconds", setting.most.components.seconds)
            }
            json.add("enforcedBy", record.enforcedBy)
        }
        return json.finished()
    }

    package static func deadLetters(_ letters: [PushViews.DeadLetter], _ page: AdminPage) -> [UInt8] {
        self.list("deadLetters", letters, page, number: \.number) { letter in
            var json = JSONWriter()
            json.add("at", letter.at)
            json.add("whisperId", letter.recipient)
            json.add("wakeId", letter.wakeID)
            json.add("kind", letter.kind)
            json.add("provider", letter.provider)
            json.add("reason", letter.reason)
            json.add("tries", letter.tries)
            return json.finished()
        }
    }

    /// - Parameter wakes: the last wake-up of each recipient.
    package static func message(
        _ id: UUIDText, _ deliveries: [ClusterViews.Delivery], _ wakes: [WhisperID: PushViews.LastWakeUp] = [:]
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 256)
        json.add("messageId", id)
        json.add("deliveries", objects: deliveries) { delivery, json in
            json.add("from", delivery.sender)
            json.add("to", delivery.recipient)
            if let group = delivery.group { json.add("groupId", group: group) }
            json.add("status", delivery.status.rawValue)
            json.add("acceptedAt", delivery.acceptedAt)
            if let time = delivery.deliveredAt { json.add("deliveredAt", time) }
            if let time = delivery.readAt { json.add("readAt", time) }
            if let time = delivery.expiredAt { json.add("expiredAt", time) }
            // A wake-up from before the message was for another one.
            if let push = wakes[delivery.recipient], push.at >= delivery.acceptedAt {
                json.add("push", json: self.pushed(push))
            }
        }
        return json.finished()
    }

    private static func pushed(_ push: PushViews.LastWakeUp) -> [UInt8] {
        var json = JSONWriter()
        json.add("at", push.at)
        json.add("provider", push.provider)
        json.add("result", push.result)
        json.add("wakeId", push.wakeID)
        if let time = push.wokeAt { json.add("wokeAt", time) }
        return json.finished()
    }

    private static func list<Entry>(
        _ name: StaticString, _ entries: [Entry], _ page: AdminPage, number: (Entry) -> Int64,
        _ write: (Entry) -> [UInt8]
    ) -> [UInt8] {
        let shown = entries.prefix(page.limit)
        var json = JSONWriter(capacity: 256 * (shown.count + 1))
        json.add(name, array: shown) { $1 += write($0) }
        json.add("nextCursor", page.next(after: entries, number)?.text)
        return json.finished()
    }
}
