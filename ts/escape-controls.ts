// Text that others chose, made harmless for a person's terminal or log.

/**
 * Control characters, and such that cannot be seen or that reorder the line around them, as `\u{…}`; line breaks and tabs stay.
 */
export function escapeControls(text: string): string {
  return text.replace(
    /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
