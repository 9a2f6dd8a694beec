// Text that others chose, made harmless for a person's terminal or log.

/** Control, zero-width and bidirectional characters as `\u{…}`; line breaks and tabs stay. */
export function escapeControls(text: string): string {
  return text.replace(
    /[^\P{Cc}\n\t]|[\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
