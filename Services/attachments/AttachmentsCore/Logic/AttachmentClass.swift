import Contract

/// The class of an attachment, by the content type of its plaintext; its size limit follows from it (contract §9).
package enum AttachmentClass: Int16, Sendable {
    case image = 0
    case audio = 1
    case other = 2

    package init(contentType: String) {
        let type = contentType.lowercased()
        self = type.hasPrefix("image/") ? .image : type.hasPrefix("audio/") ? .audio : .other
    }

    /// In bytes.
    package var sizeMax: Int64 {
        switch self {
        case .image: Limits.imageBytesMax
        case .audio: Limits.audioBytesMax
        case .other: Limits.fileBytesMax
        }
    }
}
