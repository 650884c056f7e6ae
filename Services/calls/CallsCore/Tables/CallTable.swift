package import ClusterContract
package import Contract
package import Store

/// The only code that reads or writes `calls.calls` and `calls.parcels`.
package enum CallTable {
    /// All calls of these shares, for their new owner.
    nonisolated(nonsending) static func takeOver(
        _ shares: [CallShare], on store: PostgresConnection
    ) async throws(StoreError) -> [CallMachine] {
        var pipeline = Pipeline()
        pipeline.add(Self.trim(shares))
        let calls = pipeline.add(Self.load(shares))
        let pendingFrames = pipeline.add(Self.loadPendingFrames(shares))
        let found = try await store.pipeline(pipeline)
        let frames = try found[pendingFrames]
        return try found[calls].map { call in
            var call = call
            call.load(frames[call.wakeID] ?? [])
            return call
        }
    }

    /// Deletes frames that no side will get, before a new owner reads the rest: all but the end of a call that is over,
    /// and all frames of an answered call that has lost a slot. The rest belongs to one call per identity.
    private static func trim(_ shares: [CallShare]) -> SQL {
        """
        DELETE FROM calls.parcels p USING calls.calls c
        WHERE c.wake_id = p.wake_id AND c.share = ANY (\(shares.map { Int16($0.index) })::int2[]) AND (
            (c.ended_at IS NOT NULL AND p.kind <> \(PendingCallFrame.Kind.end.rawValue))
            OR (c.ended_at IS NULL AND c.answered_at IS NOT NULL
                AND (SELECT count(*) FROM calls.lines l WHERE l.wake_id = c.wake_id) < 2))
        """
    }

    /// Without their pending frames.
    private static func load(_ shares: [CallShare]) -> Statement<[CallMachine]> {
        Statement(
            """
            SELECT wake_id, call_id, id_case, caller, callee, is_video, started_at, rings_until, reached_at, answered_at,
                ended_at, end_reason, ended_by, is_woken, answer_mark, end_mark
            FROM calls.calls WHERE share = ANY (\(shares.map { Int16($0.index) })::int2[])
            """, each: Self.call)
    }

    /// By wake id.
    private static func loadPendingFrames(_ shares: [CallShare]) -> Statement<[UUIDText: [PendingCallFrame]]> {
        Statement(
            """
            SELECT p.wake_id, p.number, p.side, p.kind, p.payload
            FROM calls.parcels p JOIN calls.calls c ON c.wake_id = p.wake_id
            WHERE c.share = ANY (\(shares.map { Int16($0.index) })::int2[]) ORDER BY p.wake_id, p.number
            """,
            decode: { rows throws(StoreError) in
                var pendingFrames: [UUIDText: [PendingCallFrame]] = [:]
                for var row in rows {
                    let wakeID = try UUIDText(row.next(PostgresUUID.self))
                    let number: Int64 = try row.next()
                    let side = CallSide(rawValue: try row.next())
                    let kind = PendingCallFrame.Kind(rawValue: try row.next())
                    let payload: [UInt8] = try row.next()
                    guard let side, let kind else { continue }  // Of a newer release: nothing that this one could send.
                    pendingFrames[wakeID, default: []].append(
                        PendingCallFrame(number: number, side: side, kind: kind, payload: payload))
                }
                return pendingFrames
            })
    }

    private static func call(_ row: inout Row) throws(StoreError) -> CallMachine {
        let wakeID = try UUIDText(row.next(PostgresUUID.self))
        let callID = try UUIDText(row.next(PostgresUUID.self), idCase: row.next())
        let (caller, callee): (WhisperID, WhisperID) = (try row.next(), try row.next())
        let isVideo: Bool = try row.next()
        let (startedAt, ringsUntil): (Timestamp, Timestamp) = (try row.next(), try row.next())
        let (reachedAt, answeredAt, endedAt): (Timestamp?, Timestamp?, Timestamp?) = (
            try row.next(), try row.next(), try row.next()
        )
        let reason = try row.next(String?.self).flatMap { CallEndReason(rawValue: $0) }
        let endedBy = try row.next(Int16?.self).flatMap { CallSide(rawValue: $0) }
        let phase: CallMachine.Phase =
            if let endedAt {
                .ended(reason ?? .failed, at: endedAt, by: endedBy, answeredAt: answeredAt)
            } else if let answeredAt {
                .answered(at: answeredAt)
            } else {
                .ringing(reachedAt: reachedAt)
            }
        return CallMachine(
            callID: callID, wakeID: wakeID, caller: caller, callee: callee, isVideo: isVideo,
            startedAt: startedAt, ringsUntil: ringsUntil, phase: phase, isWoken: try row.next(),
            pendingFrames: [], answerMark: try row.next(), endMark: try row.next())
    }

    /// Statements that write a batch's changes, in the required order.
    static func write(_ changes: [CallBook.Change]) -> [SQL] {
        var statements: [SQL] = []
        let forgotten = changes.filter { $0.after == nil }.map { PostgresUUID($0.wakeID) }
        if !forgotten.isEmpty {
            statements.append("DELETE FROM calls.calls WHERE wake_id = ANY (\(forgotten)::uuid[])")
        }
        let changed = changes.compactMap { change in
            change.after.flatMap { after in change.before.map { after.isStored(like: $0) } == true ? nil : after }
        }
        if !changed.isEmpty { statements.append(Self.upsert(changed)) }
        let (gone, new) = Self.pendingFrames(changes)
        if !gone.isEmpty {
            statements.append(
                """
                DELETE FROM calls.parcels p
                USING unnest(\(gone.map { PostgresUUID($0.call) })::uuid[], \(gone.map(\.number))::int8[]) AS g (wake_id, number)
                WHERE p.wake_id = g.wake_id AND p.number = g.number
                """)
        }
        if !new.isEmpty {
            statements.append(
                """
                INSERT INTO calls.parcels (wake_id, number, side, kind, payload)
                SELECT * FROM unnest(
                    \(new.map { PostgresUUID($0.call) })::uuid[], \(new.map(\.pending.number))::int8[],
                    \(new.map(\.pending.side.rawValue))::int2[], \(new.map(\.pending.kind.rawValue))::int2[],
                    \(new.map(\.pending.payload))::bytea[])
                """)
        }
        return statements
    }

    private static func pendingFrames(
        _ changes: [CallBook.Change]
    ) -> (gone: [(call: UUIDText, number: Int64)], new: [(call: UUIDText, pending: PendingCallFrame)]) {
        var gone: [(call: UUIDText, number: Int64)] = []
        var new: [(call: UUIDText, pending: PendingCallFrame)] = []
        // The pending frames of a forgotten call are deleted with its row.
        for change in changes {
            guard let after = change.after else { continue }
            let (before, now) = (
                Set(change.before?.pendingFrames.map(\.number) ?? []), Set(after.pendingFrames.map(\.number))
            )
            gone += before.subtracting(now).sorted().map { (change.wakeID, $0) }
            new += after.pendingFrames.filter { !before.contains($0.number) }.map { (change.wakeID, $0) }
        }
        return (gone, new)
    }

    private static func upsert(_ calls: [CallMachine]) -> SQL {
        let states = calls.map(StoredState.init)
        return """
            INSERT INTO calls.calls (wake_id, share, call_id, id_case, caller, callee, is_video, started_at, rings_until,
                reached_at, answered_at, ended_at, end_reason, ended_by, is_woken, answer_mark, end_mark)
            SELECT * FROM unnest(
                \(calls.map { PostgresUUID($0.wakeID) })::uuid[], \(calls.map { Int16($0.share.index) })::int2[],
                \(calls.map { PostgresUUID($0.callID) })::uuid[],
                \(calls.map { Int32(bitPattern: $0.callID.upperCase) })::int4[], \(calls.map(\.caller))::int8[],
                \(calls.map(\.callee))::int8[], \(calls.map(\.isVideo))::bool[],
                \(calls.map(\.startedAt))::timestamptz[], \(calls.map(\.ringsUntil))::timestamptz[],
                \(states.map(\.reachedAt))::timestamptz[], \(states.map(\.answeredAt))::timestamptz[],
                \(states.map(\.endedAt))::timestamptz[], \(states.map(\.reason))::text[],
                \(states.map(\.endedBy))::int2[], \(calls.map(\.isWoken))::bool[], \(calls.map(\.answerMark))::int8[],
                \(calls.map(\.endMark))::int8[])
            ON CONFLICT (wake_id) DO UPDATE SET
                reached_at = excluded.reached_at, answered_at = excluded.answered_at, ended_at = excluded.ended_at,
                end_reason = excluded.end_reason, ended_by = excluded.ended_by, is_woken = excluded.is_woken,
                answer_mark = excluded.answer_mark, end_mark = excluded.end_mark
            """
    }

    /// Calls that ring for this callee, for "is it still ringing?".
    package static func ringing(for callee: WhisperID, at now: StoreTime) -> Statement<[RingingCall]> {
        Statement(
            """
            SELECT call_id, id_case, caller, is_video, wake_id, rings_until FROM calls.calls
            WHERE callee = \(callee) AND answered_at IS NULL AND ended_at IS NULL AND rings_until > \(now)
            ORDER BY started_at LIMIT \(Int64(CallLimits.ringingMax))
            """,
            each: { row throws(StoreError) in
                let callID = try UUIDText(row.next(PostgresUUID.self), idCase: row.next())
                let caller: WhisperID = try row.next()
                let isVideo: Bool = try row.next()
                let wakeID = try UUIDText(row.next(PostgresUUID.self))
                return RingingCall(
                    callID: callID, caller: caller, callee: callee, isVideo: isVideo, wakeID: wakeID,
                    ringsUntil: try row.next())
            })
    }
}

/// A call's phase as its columns have it.
private struct StoredState: Equatable {
    var reachedAt: Timestamp?
    var answeredAt: Timestamp?
    var endedAt: Timestamp?
    var reason: String?
    var endedBy: Int16?

    init(_ call: CallMachine) {
        switch call.phase {
        case .ringing(let reachedAt): self.reachedAt = reachedAt
        case .answered(let at): self.answeredAt = at
        case .ended(let reason, let at, let side, let answeredAt):
            self.answeredAt = answeredAt
            self.endedAt = at
            self.reason = reason.rawValue
            self.endedBy = side?.rawValue
        }
    }
}

extension CallMachine {
    package var share: CallShare { CallShare(of: self.caller, and: self.callee) }

    /// Whether its row need not be written: frames and whereabouts are not in it.
    fileprivate func isStored(like other: CallMachine) -> Bool {
        self.phase == other.phase && self.isWoken == other.isWoken && self.answerMark == other.answerMark
            && self.endMark == other.endMark
    }
}
