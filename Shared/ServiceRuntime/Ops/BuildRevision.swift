import CRevision

/// The commit that this process was built from.
package enum BuildRevision {
    /// `nil`: the build did not say (WHISPER_REVISION). With a suffix `-dirty` the sources differed from the commit.
    package static let current: String? = {
        let text = String(cString: build_revision())
        return text.isEmpty ? nil : text
    }()
}
