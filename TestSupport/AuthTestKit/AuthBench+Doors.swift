package import ClusterContract
package import Contract
package import OperatorsCore
import ServerCrypto
package import Store

extension AuthBench {
    /// Does what an operator does about registration.
    package func doors<T: Sendable>(
        _ body: @Sendable @escaping (DoorTable, StoreTime, borrowing Transaction) async throws(StoreError) -> T
    ) async throws -> T {
        let (table, now) = (DoorTable(self.pool), self.clock.store)
        return try await self.pool.persistently { transaction throws(StoreError) in
            try await body(table, now, transaction)
        }
    }

    package func invite(
        uses: Int64 = 1, for life: Duration = .seconds(3_600), rateClass: RateClassName? = nil
    ) async throws -> InvitationToken {
        let token = InvitationToken(random: randomBytes(InvitationToken.byteCount))
        _ = try await self.doors { doors, now, transaction throws(StoreError) in
            try await doors.add(
                .random(), tokenHash: SHA256.hash(token.bytes), uses: uses, for: life,
                by: .operators(label: nil), rateClass: rateClass, at: now, in: transaction)
        }
        return token
    }
}

extension Answer {
    package var reason: RefusalReason? {
        if case .refused(let refusal) = self { refusal.reason } else { nil }
    }
}
