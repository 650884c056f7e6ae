/// The file of a message: what is known of it, and where it stands on this device.
package struct Attachment: Sendable, Equatable {
    package enum State: Hashable, Sendable {
        /// Theirs: nobody here has asked for it.
        case offered
        /// It is to be uploaded or downloaded, now or when the server is back.
        case waiting
        /// Ours: the server has it. Theirs: it was written to where the host wanted it.
        case complete
        /// The same, and its sealed file is kept here for the host to read.
        case kept
        case failed(FileFailure)
    }

    package var details: FileDetails
    package var state: State

    package init(details: FileDetails, state: State) {
        self.details = details
        self.state = state
    }
}

/// The sender's description of a file.
package struct FileDetails: Sendable, Equatable {
    /// Without a folder; `nil` if none that can be used was given.
    package var name: String?
    /// The MIME type.
    package var type: String
    /// Plain bytes.
    package var size: Int64
    /// A small picture. Only hosts know its format.
    package var thumbnail: [UInt8]?
    /// The file is a voice note. Its type is one of audio.
    package var voice: VoiceNote?
    /// The file is a picture. Its type is one of images.
    package var image: ImageSize?
    /// The sealed message says nothing of this file, and no signature covers it: a server can have put another file of the same
    /// sender in its place, or given it another type.
    package var isUnsigned = false

    package init(
        name: String?, type: String, size: Int64, thumbnail: [UInt8]? = nil, voice: VoiceNote? = nil,
        image: ImageSize? = nil, isUnsigned: Bool = false
    ) {
        self.name = name
        self.type = type
        self.size = size
        self.thumbnail = thumbnail
        self.voice = voice
        self.image = image
        self.isUnsigned = isUnsigned
    }

    /// Bytes of the secretbox over the file.
    package var sealedSize: Int64 { self.size + Int64(SecretboxPieces.tagBytes) }

    /// Whether hosts may use this as the name of a file in a folder of theirs.
    package static func isName(_ name: String) -> Bool {
        (1...ClientLimits.fileNameBytesMax).contains(name.utf8.count) && name != "." && name != ".."
            && name.unicodeScalars.allSatisfy { $0 != "/" && $0.properties.generalCategory != .control }
    }

    /// Whether this may stand in a header: a MIME type of visible ASCII.
    package static func isType(_ type: String) -> Bool {
        (1...ClientLimits.fileTypeBytesMax).contains(type.utf8.count)
            && type.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}

/// The length and the loudness of a voice note, as the sender's host measured them. No signature of the audio itself vouches for
/// them: readers show them before they have the file.
package struct VoiceNote: Sendable, Equatable {
    /// Milliseconds, of `ClientLimits.voiceDuration`.
    package let durationMs: Int64
    /// The peak of each of equal slices, 0 to 255, as many as `ClientLimits.waveformSlices`; `nil` if the host measured none.
    package let waveform: [UInt8]?

    /// - Returns: `nil` beyond the bounds.
    package init?(durationMs: Int64, waveform: [UInt8]?) {
        guard ClientLimits.voiceDuration.contains(durationMs),
            waveform.map({ ClientLimits.waveformSlices.contains($0.count) }) ?? true
        else { return nil }
        self.durationMs = durationMs
        self.waveform = waveform
    }

    /// Whether a file of this type can be one.
    package static func isType(_ type: String) -> Bool { type.hasPrefix("audio/") }
}

/// Width and height of a picture in pixels, as the sender's host measured them. Readers keep its place before they have the file.
package struct ImageSize: Sendable, Equatable, Codable {
    package let width: Int64
    package let height: Int64

    /// - Returns: `nil` beyond `ClientLimits.imageSide`.
    package init?(width: Int64, height: Int64) {
        guard ClientLimits.imageSide.contains(width), ClientLimits.imageSide.contains(height) else { return nil }
        (self.width, self.height) = (width, height)
    }

    /// Whether a file of this type can be one.
    package static func isType(_ type: String) -> Bool { type.hasPrefix("image/") }
}

/// With what a file is found and opened.
package struct FileSecret: Sendable {
    /// `nil` until the server has given one.
    package var objectKey: String?
    package var nonce: [UInt8]
    package var key: SecretBytes

    package init(objectKey: String?, nonce: [UInt8], key: SecretBytes) {
        self.objectKey = objectKey
        self.nonce = nonce
        self.key = key
    }

    /// Whether this may stand in the path of a request.
    package static func isObjectKey(_ key: String) -> Bool {
        (1...128).contains(key.utf8.count)
            && key.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

/// Why a file was not transferred.
package enum FileFailure: String, Hashable, Sendable, CaseIterable, Error {
    /// The server takes no file of this size and type.
    case tooLarge
    /// The server keeps no more files of ours. Older ones go with time.
    case quota
    /// The server has it no more.
    case gone
    /// The server does not give it to us.
    case forbidden
    /// The server's file is not the one that the sender has sealed.
    case damaged
    /// A file of this device cannot be read or written.
    case unreadable
    /// The server takes the request for wrong: a bug on one side.
    case rejected
    /// Every attempt went wrong in a way that looked temporary.
    case triedTooOften
}
