/// Something that is asked over HTTP, as clients or operators may rely on it. The OpenAPI document follows from it.
package struct HTTPOperation: Sendable {
    package enum Method: String, Sendable {
        case get, put, post, delete
    }

    /// Where it is served (contract §1).
    package enum Origin: Sendable {
        case clients, operators
        /// The public edge, and the ops listener of every process.
        case both
    }

    /// The kind of caller that may ask. Tokens travel as `Authorization: Bearer {token}`.
    package enum Access: String, Sendable {
        case anybody
        /// A session token.
        case session
        /// A session token or a guest token.
        case principal
        /// An admin token of either role.
        case viewer
        /// An admin token of the role `operator`.
        case `operator`
    }

    package struct Parameter: Sendable {
        package enum Place: String, Sendable {
            case path, query, header
        }

        package let place: Place
        package let field: Field

        static func path(_ name: String, _ type: FieldType, about: String = "") -> Parameter {
            Parameter(place: .path, field: Field(name, type, about: about))
        }

        static func query(_ name: String, _ type: FieldType, about: String = "") -> Parameter {
            Parameter(place: .query, field: Field(name, type, .optional, about: about))
        }

        static func header(_ name: String, _ type: FieldType, about: String = "") -> Parameter {
            Parameter(place: .header, field: Field(name, type, .optional, about: about))
        }
    }

    /// The answer to a successful request.
    package enum Success: Sendable {
        case json(ObjectSchema, sample: String)
        /// Another media type.
        case text(mediaType: String)
        /// A page for people. Its failures are pages, too.
        case page
    }

    package struct Failure: Sendable {
        package let status: Int
        package let code: ErrorCode
        package let when: String

        package init(_ code: ErrorCode, status: Int? = nil, _ when: String) {
            self.status = status ?? code.httpStatus
            self.code = code
            self.when = when
        }
    }

    package let name: String
    package let method: Method
    package let path: String
    package let about: String
    package let origin: Origin
    package let access: Access
    /// For each identity; for admin operations, for each role over all of them.
    package let rate: Rate?
    package let parameters: [Parameter]
    package let request: (schema: ObjectSchema, sample: String)?
    package let success: Success
    /// When the answer is 304 without a body, for operations that know it.
    package let unchangedWhen: String?
    /// Headers of the answer: name and meaning.
    package let headers: [(name: String, about: String)]
    /// Failures that are this operation's own; those that all of its kind have are not repeated here.
    package let failures: [Failure]

    init(
        _ name: String, _ method: Method, _ path: String, about: String, origin: Origin = .clients,
        access: Access = .session, rate: Rate? = nil, parameters: [Parameter] = [],
        request: (schema: ObjectSchema, sample: String)? = nil, success: Success,
        unchangedWhen: String? = nil, headers: [(name: String, about: String)] = [], failures: [Failure] = []
    ) {
        self.name = name
        self.method = method
        self.path = path
        self.about = about
        self.origin = origin
        self.access = access
        self.rate =
            switch access {
            case .viewer, .operator: rate ?? Rates.admin
            case .anybody, .session, .principal: rate
            }
        self.parameters = parameters
        self.request = request
        self.success = success
        self.unchangedWhen = unchangedWhen
        self.headers = headers
        self.failures = failures
    }

    /// The body of every failure (contract §1).
    package static let failureBody = ObjectSchema([
        Field("error", .choice(ErrorCode.allCases.map(\.rawValue))),
        Field("message", .text(1...1_000), about: "For people. Never repeats a value that the client sent."),
        Field(
            "reason", .choice(RefusalReason.allCases.map(\.rawValue)), .optional,
            about: "Where a client can act on more than the code."),
    ])
}

/// A body that comes in: its schema, and how it is read.
package protocol HTTPBody: Sendable {
    static var schema: ObjectSchema { get }

    /// Reads a payload that satisfies the schema.
    init(_ payload: Payload) throws(Payload.Corrupted)
}

/// Every operation.
package enum HTTPCatalogue {
    package static let all: [HTTPOperation] =
        [KeyOperations.keys] + BackupOperations.all + ProfileOperations.all + AttachmentOperations.all
        + [MailOperations.look, CallOperations.ringing, LiveOperations.look] + TranscriptOperations.all
        + [RoomOperations.list] + PageOperations.all
        + HealthOperations.all
        + AdminOperations.all
        + [ServerOperations.server]
        + DoorOperations.all + ErasureOperations.all + PeopleOperations.all
        + ExportOperations.all + [RetentionOperations.list]
        + AttachmentOperations.operators
}
