import CQREncode

/// A text as a picture that phones read.
package struct QRCode {
    /// Rows of dark modules, without the edge.
    package let rows: [[Bool]]

    /// Light modules around the picture (contract §20.8).
    package static let edge = 4

    /// - Returns: `nil` if the text is too long for one picture.
    package init?(_ text: String) {
        guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M) else { return nil }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        // The lowest bit of a module says whether it is dark.
        self.rows = (0..<width).map { row in (0..<width).map { code.pointee.data[row * width + $0] & 1 == 1 } }
    }

    /// Two rows of modules in one line. Light ones are drawn: on the dark ground of most terminals, and with `dark` on each, the
    /// picture is dark on light.
    /// - Parameter dark: gives a line the colours white on black, where a terminal shows it.
    package func lines(_ dark: (String) -> String = { $0 }) -> [String] {
        let places = -Self.edge..<self.rows.count + Self.edge
        return stride(from: places.lowerBound, to: places.upperBound, by: 2).map { row in
            dark(
                String(
                    places.map { column -> Character in
                        switch (self.isLight(row, column), self.isLight(row + 1, column)) {
                        case (true, true): "█"
                        case (true, false): "▀"
                        case (false, true): "▄"
                        case (false, false): " "
                        }
                    }))
        }
    }

    /// White on black, whatever the colours of the terminal.
    package static func dark(_ line: String) -> String { "\u{1B}[38;5;231;48;5;16m\(line)\u{1B}[0m" }

    private func isLight(_ row: Int, _ column: Int) -> Bool {
        guard self.rows.indices.contains(row), self.rows.indices.contains(column) else { return true }
        return !self.rows[row][column]
    }
}
