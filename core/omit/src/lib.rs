//! Optional fields that are left out of what is written.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Leaves out what is `None`: each field of a struct, or of an enum's variants, that is an `Option` gets
/// `#[serde(skip_serializing_if = "Option::is_none")]`, unless it has such a condition already. Comes before `#[derive]`.
#[proc_macro_attribute]
pub fn omit_none(_: TokenStream, item: TokenStream) -> TokenStream {
    in_braces(item)
}

fn in_braces(tokens: TokenStream) -> TokenStream {
    let inner = |token| {
        if let TokenTree::Group(group) = &token
            && group.delimiter() == Delimiter::Brace
        {
            return TokenTree::Group(Group::new(Delimiter::Brace, fields(group.stream())));
        }
        token
    };
    tokens.into_iter().map(inner).collect()
}

/// Fields, or variants, which may have fields.
fn fields(tokens: TokenStream) -> TokenStream {
    let (mut done, mut field, mut depth) = (TokenStream::new(), Vec::new(), 0_u32);
    for token in in_braces(tokens) {
        let mark = if let TokenTree::Punct(mark) = &token { mark.as_char() } else { ' ' };
        field.push(token);
        match mark {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => done.extend(marked(std::mem::take(&mut field))),
            _ => {}
        }
    }
    done.extend(marked(field));
    done
}

fn marked(field: Vec<TokenTree>) -> impl Iterator<Item = TokenTree> {
    let optional = field.windows(2).any(|two| match two {
        [TokenTree::Punct(colon), TokenTree::Ident(of)] => {
            colon.as_char() == ':' && of.to_string() == "Option"
        }
        _ => false,
    });
    let decided = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.to_string().contains("skip_serializing_if"));
    let condition = if optional && !field.iter().any(decided) {
        r#"#[serde(skip_serializing_if = "Option::is_none")]"#
    } else {
        ""
    };
    condition.parse::<TokenStream>().expect("an attribute").into_iter().chain(field)
}
