package import Contract

/// A frame for a service, or a gateway's own question to it. The service answers to `answer`.
package struct ServiceRequest: Job {
    package enum Body: Sendable {
        /// A client's frame: its type, and its payload as JSON without the session token.
        case frame(type: String, payload: [UInt8])
        /// Which session has this token hash?
        case session(tokenHash: Bytes32)
        /// Which guest has this token hash?
        case guest(tokenHash: Bytes32)
        /// The successor of a refreshed token was used: its predecessor ends now.
        case sessionUsed(tokenHash: Bytes32)
        /// A guest's connection has taken the place of one at another gateway, which is to hear of it.
        case guestMoved(GuestMove)
    }

    package var answer: AnswerAddress
    package var connection: ConnectionID
    /// The session that the frame came with.
    package var session: Session?
    /// The token itself, for frames that say so (`FrameDefinition.passesToken`); else empty. Never stored.
    package var presentedToken: [UInt8]
    package var body: Body

    package init(
        answer: AnswerAddress, connection: ConnectionID, session: Session?, presentedToken: [UInt8] = [], body: Body
    ) {
        self.answer = answer
        self.connection = connection
        self.session = session
        self.presentedToken = presentedToken
        self.body = body
    }

    package func encode(into writer: inout WireWriter) {
        writer.write(self.answer)
        writer.write(self.connection)
        writer.write(self.session)
        writer.write(bytes: self.presentedToken)
        switch self.body {
        case .frame(let type, let payload):
            writer.write(UInt8(1))
            writer.write(type)
            writer.write(bytes: payload)
        case .session(let hash):
            writer.write(UInt8(2))
            writer.write(hash)
        case .sessionUsed(let hash):
            writer.write(UInt8(3))
            writer.write(hash)
        case .guest(let hash):
            writer.write(UInt8(4))
            writer.write(hash)
        case .guestMoved(let move):
            writer.write(UInt8(5))
            writer.write(move)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.answer = try reader.read()
        self.connection = try reader.read()
        self.session = try reader.readOptional()
        self.presentedToken = try reader.readBytes()
        switch try reader.read(UInt8.self) {
        case 1: self.body = .frame(type: try reader.readString(), payload: try reader.readBytes())
        case 2: self.body = .session(tokenHash: try reader.read())
        case 3: self.body = .sessionUsed(tokenHash: try reader.read())
        case 4: self.body = .guest(tokenHash: try reader.read())
        case 5: self.body = .guestMoved(try reader.read())
        case let other: throw .unknown(other)
        }
    }
}

/// A connection has said in Redis that a guest is there, and has found that another one had said so.
package struct GuestMove: Hashable, Sendable {
    /// The one that had said so before.
    package var from: Presence
    /// The proof that bound the new one.
    package var epoch: Epoch
    /// For how long the new one has been the guest's, in milliseconds.
    package var age: Int64

    package init(from: Presence, epoch: Epoch, age: Int64) {
        self.from = from
        self.epoch = epoch
        self.age = age
    }
}

extension GuestMove: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.from)
        writer.write(self.epoch)
        writer.write(self.age)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.from = try reader.read()
        self.epoch = try reader.read()
        self.age = try reader.read()
    }
}
