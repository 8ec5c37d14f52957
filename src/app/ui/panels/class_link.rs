//! The sheet that makes a link for a class: it hides the answers of the lesson, and locks or hides controls where that is
//! chosen.

use crate::{
    experiments::permalink::Permalink,
    labs::{
        lesson::LessonLink,
        restrictions::{Restrictions, SEED, VIEW_CONTROLS},
    },
    ui::{page::link, panels::prelude::*},
};

/// The state of the controls on the page that the link opens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LinkedControls {
    #[default]
    AsHere,
    Locked,
    Hidden,
}

#[derive(Debug)]
pub struct ClassLinkSheet {
    hides_answers: bool,
    controls: LinkedControls,
    /// The settings, and other names that a link may restrict, whose controls stay as they are here.
    unrestricted: BTreeSet<&'static str>,
    /// The link opens the step of the lesson that is followed, and not the settings shown.
    opens_step: bool,
}

/// What depends on the machine that opens the link.
const MACHINE_KEYS: [&str; 2] = ["run.device", "run.threads"];

/// Longer lists of controls scroll, points.
const LIST_HEIGHT: f32 = 160.0;
/// Height of the link, which has it always: with a height of its own the sheet would move under the pointer, points.
const LINK_HEIGHT: f32 = 80.0;

impl Default for ClassLinkSheet {
    fn default() -> Self {
        let (hides_answers, controls, opens_step) = (true, LinkedControls::AsHere, false);
        Self { hides_answers, controls, unrestricted: MACHINE_KEYS.into(), opens_step }
    }
}

impl ClassLinkSheet {
    pub fn ui(&mut self, ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
        let theme = shell.theme;
        let room = room_in_sheet(ui);
        let all = area_from_top(ui, "class link", room).auto_shrink([false, true]);
        let link = all.show(ui, |ui| self.choices_ui(ui, theme, page)).inner;
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let copy = main_button(theme, "Copy this link");
            if ui.add(copy).clicked() {
                shell.act(OpenAction::Back);
                shell.act(MessageAction::CopyText(link));
                let words = "Copied. The command orrery open LINK opens it, and so do Ctrl V and Ctrl O in a window.";
                shell.act(MessageAction::Toast(words.into()));
            }
            shell.on_click(ui.button("Cancel"), OpenAction::Back);
        });
    }

    /// Draws the choices and the link that they make; returns the link.
    fn choices_ui(&mut self, ui: &mut Ui, theme: &Theme, page: &Page) -> String {
        ui.label(RichText::new("Link for a class").text_style(theme::title_style()));
        let about = "Opens this page elsewhere. \u{201c}Unlock\u{201d} there gives locked and hidden controls back, but not answers.";
        quiet_ui(ui, theme, about);
        ui.add_space(8.0);
        // a link is at least as restricted as the page that it is copied from
        let is_hidden = page.restrictions.hides_answers;
        self.hides_answers |= is_hidden;
        ui.add_enabled(!is_hidden, egui::Checkbox::new(&mut self.hides_answers, "Hide the answers of the lesson"));
        if let Some(i) = page.lesson.current {
            ui.checkbox(&mut self.opens_step, format!("Open step {} of the lesson with its own settings", i + 1));
        }
        ui.horizontal_wrapped(|ui| {
            quiet_ui(ui, theme, "Controls:");
            for (controls, words) in [
                (LinkedControls::AsHere, "as here"),
                (LinkedControls::Locked, "all locked"),
                (LinkedControls::Hidden, "all hidden"),
            ] {
                ui.selectable_value(&mut self.controls, controls, words);
            }
        });
        if self.controls != LinkedControls::AsHere {
            self.excepted_ui(ui, theme, page);
        }
        if self.opens_step && self.controls == LinkedControls::Locked {
            wrapped_ui(ui, "Another step cannot set what is locked, and is not judged then.", theme.secondary);
        }
        let (link, more) = self.link(page);
        section_ui(ui, theme, "Link");
        area_from_top(ui, "link", LINK_HEIGHT).auto_shrink([true, false]).show(ui, |ui| {
            ui.add(Label::new(RichText::new(&link).font(theme::numbers()).color(theme.text)).wrap());
        });
        if !more.is_empty() {
            wrapped_ui(ui, more, theme.secondary);
        }
        link
    }

    /// A tick for each control that stays as it is.
    fn excepted_ui(&mut self, ui: &mut Ui, theme: &Theme, page: &Page) {
        note_ui(ui, theme, "except those ticked:");
        // the page's own restrictions cannot be lifted here
        let is_free = |name: &str| !page.restrictions.hides(name) && !page.restrictions.locks(name);
        let mut others = vec![(SEED, "Seed"), (VIEW_CONTROLS, "Controls in the views")];
        others.retain(|(name, _)| is_free(name));
        let of_group = |group: &str| {
            let shown = page.knobs.iter().filter(|k| k.group() == group && is_free(k.key));
            shown.map(|k| (k.key, k.label)).collect::<Vec<_>>()
        };
        let groups = page.lab.groups.iter().map(|(group, heading)| (*heading, of_group(group)));
        area_from_top(ui, "excepted", LIST_HEIGHT).show(ui, |ui| {
            for (heading, names) in
                [("General", others)].into_iter().chain(groups).filter(|(_, names)| !names.is_empty())
            {
                note_ui(ui, theme, heading);
                ui.horizontal_wrapped(|ui| {
                    for (name, label) in names {
                        let mut is_excepted = self.unrestricted.contains(name);
                        if ui.checkbox(&mut is_excepted, label).on_hover_text(name).changed() {
                            toggle(&mut self.unrestricted, name);
                        }
                    }
                });
            }
        });
    }

    /// The link, and what a user who passes it on should know.
    fn link(&self, page: &Page) -> (String, String) {
        let restrictions = self.restrictions(page);
        if let Some(i) = page.lesson.current.filter(|_| self.opens_step) {
            let link = LessonLink { restrictions, ..LessonLink::new(page.lab.id, i + 1) };
            return (link.to_string(), String::new());
        }
        let link = Permalink { restrictions, ..link::link(page) };
        (link.to_string(), link::link_text(page, &link))
    }

    /// The page's own restrictions and those that are chosen; a group stands for its settings where none is excepted.
    fn restrictions(&self, page: &Page) -> Restrictions {
        let mut all = page.restrictions.clone();
        all.hides_answers |= self.hides_answers;
        let restricted = match self.controls {
            LinkedControls::AsHere => return all,
            LinkedControls::Locked => &mut all.locked,
            LinkedControls::Hidden => &mut all.hidden,
        };
        let mut names = vec![];
        for (group, _) in page.lab.groups {
            let of_group = page.knobs.iter().filter(|knob| knob.group() == *group);
            let keys: Vec<&'static str> = of_group.map(|knob| knob.key).collect();
            let is_whole = !keys.iter().any(|key| self.unrestricted.contains(key));
            names.extend(if is_whole { vec![*group] } else { keys });
        }
        names.extend([SEED, VIEW_CONTROLS]);
        for name in names.into_iter().filter(|name| !self.unrestricted.contains(name)) {
            if !restricted.iter().any(|known| known == name) {
                restricted.push(name.to_owned());
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::LABS;

    #[test]
    fn a_link_restricts_every_setting_but_those_excepted() {
        for lab in LABS {
            let mut page = Page::new(lab, lab.config(None).unwrap());
            let mut sheet = ClassLinkSheet { controls: LinkedControls::Locked, ..ClassLinkSheet::default() };
            assert!(!sheet.restrictions(&page).locks("run.device"), "another machine may lack the device");
            sheet.unrestricted.clear();
            let locked = sheet.restrictions(&page);
            assert_eq!(locked.check(lab), Ok(()));
            let keys = || page.knobs.iter().map(|knob| knob.key).chain([SEED, VIEW_CONTROLS]);
            assert!(keys().all(|key| locked.locks(key) && !locked.hides(key)), "{}: {:?}", lab.id, locked.locked);
            assert!(locked.locked.len() <= lab.groups.len() + 2, "groups stand for their settings");
            let free = page.knobs[0].key;
            sheet.unrestricted.extend([free, SEED]);
            let locked = sheet.restrictions(&page);
            assert_eq!(locked.check(lab), Ok(()));
            assert!(keys().all(|key| locked.locks(key) != [free, SEED].contains(&key)), "{}", lab.id);
            page.restrictions = Restrictions { hidden: vec![free.to_owned()], hides_answers: true, ..locked };
            let kept = ClassLinkSheet::default().restrictions(&page);
            assert_eq!(kept, page.restrictions, "a copied link lifts nothing");
        }
    }
}
