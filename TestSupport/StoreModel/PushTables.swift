package import Contract
import Store

/// `push.recipients`, and what push is shown of others.
package struct PushTables: Equatable, Sendable {
    package struct Recipient: Equatable, Sendable {
        package var sentAt: Timestamp?
        package var unanswered: Int16
        package var failures: Int16
        package var dueAt: Timestamp?
    }

    package internal(set) var recipients: [WhisperID: Recipient] = [:]
    /// Failed pushes.
    package internal(set) var deadLetters = 0

    /// Stands for NULL in arrays.
    private static let never = Timestamp(milliseconds: 0)

    static let statements = [
        StoreModel.reads("SELECT asked.id, t.platform, t.push_token") { model, parameters in
            // In the order in which they stand in the text.
            let (now, ids): (Timestamp, [WhisperID]) = (parameters(1), parameters(2))
            return StatementAnswer(ids) { id, row in
                let device = model.auth.devices[id]?.first { $0.pushToken != nil || $0.voipToken != nil }
                let known = model.push.recipients[id]
                row.add(id)
                row.add(device?.platform)
                row.add(device?.pushToken)
                row.add(device?.voipToken)
                row.add(nil as [UInt8]?)
                row.add(device.map { _ in false })
                row.add(known?.sentAt)
                row.add(known?.unanswered ?? 0)
                row.add(known?.failures ?? 0)
                row.add(known?.dueAt)
                let waits = model.router.mailboxes[id]?.contains { message in
                    known?.sentAt.map { message.acceptedAt <= $0 } ?? false
                }
                row.add((known?.unanswered ?? 0) > 0 && waits != true)
                row.add(model.router.mailboxes[id]?.isEmpty == false)
                row.add(now)
            }
        },
        StoreModel.writes("INSERT INTO push.recipients AS mine") { model, parameters in
            let ids: [WhisperID] = parameters(3)
            let (sent, due): ([Timestamp], [Timestamp]) = (parameters(8), parameters(11))
            let (unanswered, failures): ([Int16], [Int16]) = (parameters(9), parameters(10))
            for (index, id) in ids.enumerated() {
                model.push.recipients[id] = Recipient(
                    sentAt: sent[index] == Self.never ? nil : sent[index], unanswered: unanswered[index],
                    failures: failures[index], dueAt: due[index] == Self.never ? nil : due[index])
            }
            return .changed(ids.count)
        },
        StoreModel.writes("INSERT INTO push.dead_letters") { model, parameters in
            model.push.deadLetters += parameters(2, [WhisperID].self).count
            return .nothing
        },
        StoreModel.writes("UPDATE push.recipients SET due_at = LEAST(due_at, held.until)") { model, parameters in
            let (ids, until): ([WhisperID], [Timestamp]) = (parameters(1), parameters(2))
            for (id, until) in zip(ids, until) where model.push.recipients[id] != nil {
                model.push.recipients[id]!.dueAt = min(model.push.recipients[id]!.dueAt ?? until, until)
            }
            return .changed(ids.count)
        },
        StoreModel.writes("UPDATE push.recipients SET due_at = $1") { model, parameters in
            let (next, now, limit): (Timestamp, Timestamp, Int64) = (parameters(1), parameters(2), parameters(3))
            let due = model.push.recipients.filter { $0.value.dueAt.map { $0 <= now } ?? false }
                .sorted { ($0.value.dueAt!, $0.key) < ($1.value.dueAt!, $1.key) }.prefix(Int(limit))
            for (id, _) in due { model.push.recipients[id]!.dueAt = next }
            return StatementAnswer(due) { item, row in
                row.add(item.key)
                row.add(item.value.sentAt)
                row.add(item.value.unanswered)
                row.add(item.value.failures)
                row.add(next)
                row.add(model.router.mailboxes[item.key]?.isEmpty == false)
            }
        },
        StoreModel.writes("WITH old AS (\n    SELECT recipient, unanswered FROM push.recipients") { model, parameters in
            var woken: [WhisperID] = []
            for id in parameters(1, [WhisperID].self) {
                guard let known = model.push.recipients[id] else { continue }
                if known.unanswered > 0 { woken.append(id) }
                model.push.recipients[id] = Recipient(
                    sentAt: known.sentAt, unanswered: 0, failures: 0,
                    dueAt: model.router.mailboxes[id]?.isEmpty == false ? known.dueAt : nil)
            }
            return StatementAnswer(woken) { $1.add($0) }
        },
        // Nothing is ever so old here.
        StoreModel.reads("DELETE FROM push.dead_letters") { _, _ in .nothing },
        StoreModel.reads("DELETE FROM push.recipients") { _, _ in .nothing },
    ]
}
