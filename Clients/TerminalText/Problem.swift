/// Something the person should know, in a sentence. It ends the command.
package struct Problem: Error, CustomStringConvertible {
    package let description: String
    package init(_ text: String) { self.description = text }
}
