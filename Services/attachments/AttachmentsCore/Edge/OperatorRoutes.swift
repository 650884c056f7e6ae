import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
import Store
import Telemetry

/// The operators' requests to attachments, on the ops listener.
package struct OperatorRoutes: Sendable {
    private let tokens: AdminTokens
    private let gate: AdminGate
    private let collector: Collector
    private let auditor: Auditor
    private let logger: Logger

    package init(
        tokens: AdminTokens, gate: AdminGate, collector: Collector, auditor: Auditor, logger: Logger
    ) {
        self.tokens = tokens
        self.gate = gate
        self.collector = collector
        self.auditor = auditor
        self.logger = logger
    }

    package func add(to router: Router<some RequestContext>) {
        router.post("admin/attachments/gc/run") { request, _ in
            try await self.gate.serve("collectAttachments", .operator, as: self.tokens.role(of: request)) {
                call async throws(HTTPRefusal) in try await self.collect(&call)
            }
        }
        router.post("admin/attachments/audit") { request, _ in
            try await self.gate.serve("auditAttachments", .operator, as: self.tokens.role(of: request)) {
                call async throws(HTTPRefusal) in try await self.audit(request, &call)
            }
        }
    }

    private func collect(_ call: inout AdminGate.Call) async throws(HTTPRefusal) -> Response {
        let tally: Collector.Tally
        do throws(StoreError) {
            tally = try await self.collector.collect(sparingURLs: false)
        } catch {
            self.logger.warning("collection interrupted", [.error: "\(error)"])
            throw .internalError
        }
        call.event.note = "\(tally.deleted) deleted, \(tally.bytesFreed) bytes freed"
        return .answer(AttachmentAnswers.tally(tally))
    }

    private func audit(_ request: Request, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> Response {
        let body = try await JSONBody.read(
            AttachmentOperations.Audit.self, of: request, bytesMax: AttachmentsLimits.bodyBytesMax)
        let report: Auditor.Report
        do throws(Auditor.Failure) {
            report = try await self.auditor.audit(fixing: body.isFixing)
        } catch {
            self.logger.warning("audit interrupted", [.error: "\(error)"])
            throw .internalError
        }
        call.event.note = "\(report.leaked) leaked, \(report.dangling) dangling, \(report.fixed) fixed"
        return .answer(AttachmentAnswers.report(report))
    }
}
