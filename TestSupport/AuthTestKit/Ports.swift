import AuthCore
import OperatorsCore

// As in the process itself (Services/auth/main/Ports.swift).
extension IdentityAccess: Identities {}
extension Operators: OperatorRecords {}
