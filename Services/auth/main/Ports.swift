import AuthCore
import OperatorsCore

// The two cores of this process know nothing of each other. Here each becomes what the other asks for.
extension IdentityAccess: Identities {}
extension Operators: OperatorRecords {}
