import ClusterContract
import Contract
import StoreModel

// The part of libpq that `Store` calls, with a simulated server behind it: PostgreSQL manual, chapter 34. In this
// executable these definitions replace libpq's own.

/// A connection in pipeline mode. Commands are answered when a Sync closes the pipeline.
final class ClientSession {
    enum Asked {
        case preparation
        case statement(name: String, parameters: [[UInt8]?])
        case forgetAll
    }

    /// The subject of a statement, recognised when it is prepared.
    private enum Command {
        case begin, rollBack, commit
        case onLocks(LockStatement)
        case onTables(StoreModel.Statement)
        case unknown(String)

        init(_ text: String) {
            switch text {
            case _ where text.hasPrefix("BEGIN"): self = .begin
            case "ROLLBACK": self = .rollBack
            case "COMMIT": self = .commit
            default:
                if let statement = LockStatement(text) {
                    self = .onLocks(statement)
                } else if let statement = StoreModel.statement(text) {
                    self = .onTables(statement)
                } else {
                    self = .unknown(text)
                }
            }
        }
    }

    let server: SimulatedPostgres
    let session: SimulatedPostgres.Session?
    private var prepared: [String: Command] = [:]
    private var asked: [Asked] = []
    /// Answers in the order in which they are fetched; nil ends the answers to one command.
    private var results: [ClientResult?] = []
    private var next = 0
    private var isInFailedTransaction = false

    init(server: SimulatedPostgres, host: Host?) {
        self.server = server
        self.session = server.connect(host)
    }

    deinit { if let session, !session.isOver { self.server.end(session) } }

    var isLost: Bool { self.session == nil || self.session!.isOver }

    /// 0 idle, 2 in a transaction, 3 in a failed transaction.
    var transactionStatus: UInt32 {
        if self.isInFailedTransaction { return 3 }
        return self.session?.transaction == nil ? 0 : 2
    }

    func prepare(_ name: String, _ text: String) {
        self.prepared[name] = Command(text)
        self.asked.append(.preparation)
    }

    func ask(_ asked: Asked) { self.asked.append(asked) }

    func takeResult() -> ClientResult? {
        guard self.next < self.results.count else { return nil }
        defer { self.next += 1 }
        return self.results[self.next]
    }

    func sync() {
        self.results = []
        self.next = 0
        let asked = self.asked
        self.asked = []
        guard let session, !session.isOver else { return }
        session.heardAt = Machine.current.now
        let fate = self.server.fate(session)
        if fate == .lostBefore { return self.server.end(session) }
        var results: [ClientResult?] = []
        var isAborted = false
        for command in asked {
            if isAborted {
                results += [ClientResult(status: .pipelineAborted), nil]
                continue
            }
            let result = self.run(command, in: session)
            isAborted = result.status == .fatalError
            results += [result, nil]
        }
        results.append(ClientResult(status: .pipelineSync))
        if fate == .lostAfter || session.isOver {
            self.server.end(session)
            return
        }
        self.results = results
    }

    private func run(_ command: Asked, in session: SimulatedPostgres.Session) -> ClientResult {
        guard case .statement(let name, let values) = command else { return ClientResult(status: .commandOK) }
        // Every statement was prepared before.
        let command = self.prepared[name]!
        switch command {
        case .begin:
            self.server.begin(session)
            return ClientResult(status: .commandOK, tag: "BEGIN")
        case .rollBack:
            self.server.rollBack(session)
            self.isInFailedTransaction = false
            return ClientResult(status: .commandOK, tag: "ROLLBACK")
        case _ where self.isInFailedTransaction:
            return ClientResult(refused: "25P02", constraint: "")
        case .commit:
            do throws(SimulatedPostgres.Failure) {
                try self.server.commit(session)
                return ClientResult(status: .commandOK, tag: "COMMIT")
            } catch {
                return self.refused(error, in: session)
            }
        case .onLocks(let statement): return ClientResult(self.server.run(statement, Parameters(values), in: session))
        case .onTables(let statement):
            do throws(SimulatedPostgres.Failure) {
                return ClientResult(try self.server.run(statement, Parameters(values), in: session))
            } catch {
                return self.refused(error, in: session)
            }
        case .unknown(let text): fatalError("the model of the store does not know this statement: \(text)")
        }
    }

    private func refused(
        _ failure: SimulatedPostgres.Failure, in session: SimulatedPostgres.Session
    ) -> ClientResult {
        guard case .refused(let sqlState, let constraint) = failure else { fatalError() }
        self.isInFailedTransaction = session.transaction != nil
        return ClientResult(refused: sqlState, constraint: constraint)
    }
}

/// The result of a command. Its memory is valid until `PQclear`.
final class ClientResult {
    /// The numbers of `ExecStatusType`.
    enum Status: UInt32 {
        case commandOK = 1
        case tuplesOK = 2
        case fatalError = 7
        case pipelineSync = 10
        case pipelineAborted = 11
    }

    let status: Status
    let types: [UInt32]
    let rowCount: Int
    /// The cells, followed by the texts.
    private let bytes: UnsafeMutablePointer<CChar>
    /// Start and length of each cell; −1 for NULL.
    private let cells: [(start: Int, length: Int)]
    private let tag: Int
    private let affected: Int
    private let fields: [Int8: Int]

    convenience init(_ answer: StatementAnswer) {
        self.init(status: .tuplesOK, answer: answer)
    }

    convenience init(refused sqlState: String, constraint: String) {
        self.init(
            status: .fatalError,
            fields: ["C": sqlState, "M": "refused", "n": constraint, "V": "ERROR", "R": "simulation"])
    }

    init(
        status: Status, answer: StatementAnswer = .init(), tag: String = "",
        fields: KeyValuePairs<Character, String> = [:]
    ) {
        self.status = status
        self.types = answer.types
        self.rowCount = answer.rowCount
        self.cells = answer.cells
        var bytes = answer.bytes
        func text(_ text: String) -> Int {
            defer {
                bytes += text.utf8
                bytes.append(0)
            }
            return bytes.count
        }
        self.tag = text(tag)
        self.affected = text("\(answer.affected)")
        self.fields = fields.reduce(into: [:]) { $0[Int8(bitPattern: $1.key.asciiValue!)] = text($1.value) }
        self.bytes = .allocate(capacity: bytes.count)
        bytes.withUnsafeBytes {
            UnsafeMutableRawPointer(self.bytes).copyMemory(from: $0.baseAddress!, byteCount: $0.count)
        }
    }

    deinit { self.bytes.deallocate() }

    private func cell(_ row: Int32, _ column: Int32) -> (start: Int, length: Int) {
        self.cells[Int(row) * self.types.count + Int(column)]
    }

    func length(_ row: Int32, _ column: Int32) -> Int { self.cell(row, column).length }
    func value(_ row: Int32, _ column: Int32) -> UnsafeMutablePointer<CChar> {
        self.bytes + self.cell(row, column).start
    }
    var affectedText: UnsafeMutablePointer<CChar> { self.bytes + self.affected }
    var tagText: UnsafeMutablePointer<CChar> { self.bytes + self.tag }
    func field(_ code: Int32) -> UnsafeMutablePointer<CChar>? { self.fields[Int8(code)].map { self.bytes + $0 } }
}

// MARK: - Pointers

private func handle(_ object: AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(object).toOpaque()) }

private func session(_ handle: OpaquePointer) -> ClientSession {
    Unmanaged<ClientSession>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
}

private func result(_ handle: OpaquePointer) -> ClientResult {
    Unmanaged<ClientResult>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
}

// MARK: - Sessions

@_cdecl("PQconnectdbParams")
func connectdbParams(_ keywords: OpaquePointer?, _ values: OpaquePointer?, _ expand: Int32) -> OpaquePointer? {
    handle(ClientSession(server: World.current.postgres, host: Machine.current.host))
}

@_cdecl("PQstatus") func status(_ connection: OpaquePointer) -> UInt32 { session(connection).isLost ? 1 : 0 }
@_cdecl("PQfinish") func finish(_ connection: OpaquePointer) {
    Unmanaged<ClientSession>.fromOpaque(UnsafeRawPointer(connection)).release()
}
@_cdecl("PQerrorMessage") func errorMessage(_ connection: OpaquePointer) -> UnsafeMutablePointer<CChar>? { nil }
/// The client never reads from this socket: answers are ready when they are requested.
@_cdecl("PQsocket") func socket(_ connection: OpaquePointer) -> Int32 { SilentSocket.descriptor }
@_cdecl("PQbackendPID") func backendPID(_ connection: OpaquePointer) -> Int32 { session(connection).session?.id ?? 0 }
@_cdecl("PQtransactionStatus") func transactionStatus(_ connection: OpaquePointer) -> UInt32 {
    session(connection).transactionStatus
}
@_cdecl("PQsetNoticeProcessor")
func setNoticeProcessor(
    _ connection: OpaquePointer, _ processor: OpaquePointer?, _ argument: OpaquePointer?
) -> OpaquePointer? { nil }
@_cdecl("PQsetnonblocking") func setNonblocking(_ connection: OpaquePointer, _ isOn: Int32) -> Int32 { 0 }
@_cdecl("PQenterPipelineMode") func enterPipelineMode(_ connection: OpaquePointer) -> Int32 { 1 }
@_cdecl("PQconninfoParse") func conninfoParse(_ text: OpaquePointer?, _ message: OpaquePointer?) -> OpaquePointer? {
    nil
}
@_cdecl("PQconninfoFree") func conninfoFree(_ list: OpaquePointer?) {}
/// Scripts are migrations; there are none here.
@_cdecl("PQexitPipelineMode") func exitPipelineMode(_ connection: OpaquePointer) -> Int32 { 0 }
@_cdecl("PQsendQuery") func sendQuery(_ connection: OpaquePointer, _ text: UnsafePointer<CChar>) -> Int32 { 0 }

// MARK: - Asking

@_cdecl("PQsendPrepare")
func sendPrepare(
    _ connection: OpaquePointer, _ name: UnsafePointer<CChar>, _ text: UnsafePointer<CChar>, _ count: Int32,
    _ types: OpaquePointer?
) -> Int32 {
    let session = session(connection)
    guard !session.isLost else { return 0 }
    session.prepare(String(cString: name), String(cString: text))
    return 1
}

@_cdecl("PQsendQueryPrepared")
func sendQueryPrepared(
    _ connection: OpaquePointer, _ name: UnsafePointer<CChar>, _ count: Int32,
    _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int32>?, _ formats: UnsafePointer<Int32>?,
    _ resultFormat: Int32
) -> Int32 {
    let session = session(connection)
    guard !session.isLost else { return 0 }
    let parameters: [[UInt8]?] = (0..<Int(count)).map { index in
        values![index].map { [UInt8](UnsafeRawBufferPointer(start: $0, count: Int(lengths![index]))) }
    }
    session.ask(.statement(name: String(cString: name), parameters: parameters))
    return 1
}

@_cdecl("PQsendQueryParams")
func sendQueryParams(
    _ connection: OpaquePointer, _ text: UnsafePointer<CChar>, _ count: Int32, _ types: OpaquePointer?,
    _ values: OpaquePointer?, _ lengths: OpaquePointer?, _ formats: OpaquePointer?, _ resultFormat: Int32
) -> Int32 {
    // DEALLOCATE ALL; the names are never used again.
    session(connection).ask(.forgetAll)
    return 1
}

@_cdecl("PQpipelineSync") func pipelineSync(_ connection: OpaquePointer) -> Int32 {
    session(connection).sync()
    return 1
}

// MARK: - Answers

@_cdecl("PQisBusy") func isBusy(_ connection: OpaquePointer) -> Int32 { 0 }
@_cdecl("PQflush") func flush(_ connection: OpaquePointer) -> Int32 { 0 }
@_cdecl("PQconsumeInput") func consumeInput(_ connection: OpaquePointer) -> Int32 { 1 }
@_cdecl("PQgetResult") func getResult(_ connection: OpaquePointer) -> OpaquePointer? {
    session(connection).takeResult().map { handle($0) }
}
@_cdecl("PQclear") func clear(_ answer: OpaquePointer?) {
    if let answer { Unmanaged<ClientResult>.fromOpaque(UnsafeRawPointer(answer)).release() }
}
@_cdecl("PQresultStatus") func resultStatus(_ answer: OpaquePointer?) -> UInt32 {
    answer.map { result($0).status.rawValue } ?? ClientResult.Status.fatalError.rawValue
}
@_cdecl("PQresultErrorField")
func resultErrorField(_ answer: OpaquePointer?, _ code: Int32) -> UnsafeMutablePointer<CChar>? {
    answer.flatMap { result($0).field(code) }
}
@_cdecl("PQntuples") func ntuples(_ answer: OpaquePointer) -> Int32 { Int32(result(answer).rowCount) }
@_cdecl("PQnfields") func nfields(_ answer: OpaquePointer) -> Int32 { Int32(result(answer).types.count) }
@_cdecl("PQftype") func ftype(_ answer: OpaquePointer, _ column: Int32) -> UInt32 { result(answer).types[Int(column)] }
@_cdecl("PQgetisnull") func getisnull(_ answer: OpaquePointer, _ row: Int32, _ column: Int32) -> Int32 {
    result(answer).length(row, column) < 0 ? 1 : 0
}
@_cdecl("PQgetlength") func getlength(_ answer: OpaquePointer, _ row: Int32, _ column: Int32) -> Int32 {
    Int32(max(0, result(answer).length(row, column)))
}
@_cdecl("PQgetvalue")
func getvalue(_ answer: OpaquePointer, _ row: Int32, _ column: Int32) -> UnsafeMutablePointer<CChar> {
    result(answer).value(row, column)
}
@_cdecl("PQcmdTuples") func cmdTuples(_ answer: OpaquePointer) -> UnsafeMutablePointer<CChar> {
    result(answer).affectedText
}
@_cdecl("PQcmdStatus") func cmdStatus(_ answer: OpaquePointer) -> UnsafeMutablePointer<CChar> { result(answer).tagText }
